package mongo

import "go.mongodb.org/mongo-driver/v2/x/mongo/driver"

// RetryError describes the attempts that an operation made before it failed, and why it made no more. errors.As finds it in the
// operation's error:
//
//	var retries *mongo.RetryError
//	if errors.As(err, &retries) {
//		log.Printf("%v (%d attempts, %v of backoff, %s)", err, retries.Attempts, retries.Backoff, retries.Reason)
//	}
//
// It is in every CommandError, and every error of establishing a connection, of an operation that was retried, or was not because
// of a limit, deadline, option, missing label or empty token bucket. WriteException, BulkWriteException and
// ClientBulkWriteException do not hold one; event.RetryMonitor reports the same about their operations.
type RetryError = driver.RetryError

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

// RetryTokens returns the number of tokens that the client has left for retries after overload errors, from 0 to 1000. It reports
// false if the client does not have the option adaptiveRetries.
func (c *Client) RetryTokens() (tokens float64, ok bool) {
	retrier, ok := c.deployment.(driver.OverloadRetrier)
	if !ok {
		return 0, false
	}
	policy := retrier.OverloadPolicy()
	if policy == nil || policy.Bucket == nil {
		return 0, false
	}
	return policy.Bucket.Tokens(), true
}

package sim

import "mongofork/internal/retry"

// Policy names what a client does about overload errors.
type Policy string

// The policies that are compared.
const (
	// NoRetry returns every overload error, as drivers without backpressure do.
	NoRetry Policy = "no retry"
	// TwoRetries is what released drivers do: the same backoff, two retries, no bucket.
	TwoRetries Policy = "two retries"
	// FiveRetries is the fork without adaptiveRetries.
	FiveRetries Policy = "five retries"
	// FullBucket is the fork with adaptiveRetries and a new client's bucket.
	FullBucket Policy = "bucket, full at the start"
	// DrainedBucket is the fork with adaptiveRetries after a long overload: the bucket starts empty.
	DrainedBucket Policy = "bucket, empty at the start"
)

// Policies returns all policies, in the order of reports.
func Policies() []Policy {
	return []Policy{NoRetry, TwoRetries, FiveRetries, FullBucket, DrainedBucket}
}

func (p Policy) valid() bool {
	for _, known := range Policies() {
		if p == known {
			return true
		}
	}
	return false
}

// limit is how many retries the policy allows at most, where that is less than what the fork's policy does.
func (p Policy) limit() int {
	if p == TwoRetries {
		return 2
	}
	return int(retry.MaxRetries)
}

// newClient returns the state of one client: the fork's own policy.
func (p Policy) newClient(jitter func() float64) *retry.Policy {
	client := &retry.Policy{RetryReads: p != NoRetry, RetryWrites: p != NoRetry, Jitter: jitter}
	switch p {
	case FullBucket:
		client.Bucket = retry.NewTokenBucket()
	case DrainedBucket:
		client.Bucket = retry.NewTokenBucket()
		drain(client)
	}
	return client
}

// overloaded is the failure of a rejected command. Neither do simulated operations have a deadline, nor is an overload
// error retryable by the older rules.
var overloaded = retry.Failure{Overload: true, Retryable: true, Remaining: retry.NoDeadline}

// drain spends all tokens of a client.
func drain(client *retry.Policy) {
	for {
		command := client.Start(retry.Read, retry.Never)
		if command.Failed(overloaded).Reason == retry.BucketEmpty {
			return
		}
	}
}

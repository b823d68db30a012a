package sim

import "mongofork/internal/retry"

// Policy names a client's reaction to overload errors.
type Policy string

// The policies that are compared.
const (
	// NoRetry returns every overload error, as drivers without backpressure do.
	NoRetry Policy = "no retry"
	// TwoRetries is the policy of released drivers: the same backoff, two retries, no bucket.
	TwoRetries Policy = "two retries"
	// FiveRetries is the fork without adaptiveRetries.
	FiveRetries Policy = "five retries"
	// FullBucket is the fork with adaptiveRetries and a new client's bucket.
	FullBucket Policy = "bucket, full at the start"
	// DrainedBucket is the fork with adaptiveRetries after a long overload: the bucket starts empty.
	DrainedBucket Policy = "bucket, empty at the start"
	// Throttling is the fork with adaptiveThrottling.
	Throttling Policy = "throttling"
)

// Policies returns all policies, in the order of reports.
func Policies() []Policy {
	return []Policy{NoRetry, TwoRetries, FiveRetries, FullBucket, DrainedBucket, Throttling}
}

func (p Policy) valid() bool {
	for _, known := range Policies() {
		if p == known {
			return true
		}
	}
	return false
}

// SpecifiedRetries is MAX_RETRIES of the specification's revision of 2026-03-12, which the fork follows on upstream's v2.5.0.
const SpecifiedRetries = 5

// limit is the number of retries that the policy allows.
func (p Policy) limit() retry.Limit {
	switch p {
	case NoRetry:
		return retry.Never
	case TwoRetries:
		return 2
	default:
		return SpecifiedRetries
	}
}

// newClient returns the retry policy of one client: the fork's own.
func (p Policy) newClient(jitter func() float64) *retry.Policy {
	client := &retry.Policy{
		RetryReads: true, RetryWrites: true, MaxRetries: p.limit(), FirstBackoff: retry.BaseBackoff, Jitter: jitter,
	}
	switch p {
	case FullBucket:
		client.Bucket = retry.NewTokenBucket()
	case DrainedBucket:
		client.Bucket = retry.NewTokenBucket()
		drain(client)
	}
	return client
}

// overloaded is the failure of a rejected command. Simulated operations have no deadline, and the older rules do not retry
// overload errors.
var overloaded = retry.Failure{Overload: true, Retryable: true, Remaining: retry.NoDeadline}

// refused is the failure of a command that was not sent.
var refused = retry.Failure{Overload: true, Retryable: true, Refused: true, Remaining: retry.NoDeadline}

// drain spends all tokens of a client.
func drain(client *retry.Policy) {
	for {
		command := client.Start(retry.Read, retry.Never)
		if command.Failed(overloaded).Reason == retry.BucketEmpty {
			return
		}
	}
}

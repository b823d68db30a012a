package mongo

import "go.mongodb.org/mongo-driver/v2/internal/backpressure"

// ThrottleProbabilities returns, by address, for each server that the client knows the share of attempts that the client now holds
// back instead of sending them there, from 0 to below 1: the least critical first. ThrottleProbabilities returns nil if the client does
// not have the option adaptiveThrottling. It is safe for concurrent use.
func (c *Client) ThrottleProbabilities() map[string]float64 {
	throttled, ok := c.deployment.(interface{ ThrottleProbabilities() map[string]float64 })
	if !ok {
		return nil
	}
	return throttled.ThrottleProbabilities()
}

// RetryTokens returns the number of tokens that the client has left for retries after overload errors, from 0 to 1000. It reports
// false if the client does not have the option adaptiveRetries.
func (c *Client) RetryTokens() (tokens float64, ok bool) {
	retrier, ok := c.deployment.(backpressure.PolicyHolder)
	if !ok {
		return 0, false
	}
	policy := retrier.OverloadPolicy()
	if policy == nil || policy.Bucket == nil {
		return 0, false
	}
	return policy.Bucket.Tokens(), true
}

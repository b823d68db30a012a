package mongo

import "go.mongodb.org/mongo-driver/v2/internal/backpressure"

// RetryTokens returns the number of tokens that the client has left for retries after overload errors, from 0 to 1000. It reports
// false if the client does not have the option adaptiveRetries.
func (c *Client) RetryTokens() (tokens float64, ok bool) {
	policy := backpressure.PolicyOf(c.deployment)
	if policy == nil || policy.Bucket == nil {
		return 0, false
	}
	return policy.Bucket.Tokens(), true
}

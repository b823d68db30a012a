package mongo

// ThrottleProbabilities returns, by address, for each server that the client knows the probability with which the client now
// holds back a retry instead of sending it there, from 0 to below 1. It holds back at most three quarters of the first attempts
// of commands. ThrottleProbabilities returns nil if the client does not have the option adaptiveThrottling. It is safe for
// concurrent use.
func (c *Client) ThrottleProbabilities() map[string]float64 {
	throttled, ok := c.deployment.(interface{ ThrottleProbabilities() map[string]float64 })
	if !ok {
		return nil
	}
	return throttled.ThrottleProbabilities()
}

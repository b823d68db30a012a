package mongo

// ThrottleProbabilities returns, by address, for each server that the client knows the share of attempts that the client now holds
// back instead of sending them there, from 0 to below 1: the least critical first. ThrottleProbabilities returns nil if the client does not have the option adaptiveThrottling. It is safe for
// concurrent use.
func (c *Client) ThrottleProbabilities() map[string]float64 {
	throttled, ok := c.deployment.(interface{ ThrottleProbabilities() map[string]float64 })
	if !ok {
		return nil
	}
	return throttled.ThrottleProbabilities()
}

package mongo

// ThrottleProbabilities returns for each server that the client knows, by its address, the probability with which the client now
// keeps a retry back instead of sending it there, from 0 to below 1; of the first attempts of commands it keeps back no more than
// three quarters. It returns nil if the client is without the option adaptiveThrottling. It is safe for concurrent use.
func (c *Client) ThrottleProbabilities() map[string]float64 {
	throttled, ok := c.deployment.(interface{ ThrottleProbabilities() map[string]float64 })
	if !ok {
		return nil
	}
	return throttled.ThrottleProbabilities()
}

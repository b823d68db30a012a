//fork:base >=v2.10.0

package options

// With 0 an operation is not retried once it has met such an error.
//
//fork:wrap says what 0 means
func (c *ClientOptions) SetMaxAdaptiveRetries(n uint) *ClientOptions {
	return c.upstreamSetMaxAdaptiveRetries(n)
}

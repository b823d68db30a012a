package options

// SetAdaptiveRetries specifies whether a token bucket limits the client's retries after overload errors, which keeps them from prolonging
// an overload. In clients that send little, the 1000 tokens outlast most overloads.
//
// The bucket belongs to the client and starts full, with 1000 tokens. A retry after an overload error takes one token; if none is left, the
// error is returned. Each command that succeeds returns 0.1 tokens, and one more if it was a retry. A retry that fails with an error other
// than an overload error returns one token. So the client still retries through a short overload, and in a long one its retries settle at
// about a tenth of the commands that succeed. Retries by RetryReads and RetryWrites after other errors take no tokens.
//
// This can also be set through the "adaptiveRetries" URI option (e.g. "adaptiveRetries=true"). The default is false.
//
// See the Client Backpressure specification, "Adaptive retry policy".
func (c *ClientOptions) SetAdaptiveRetries(b bool) *ClientOptions {
	c.AdaptiveRetries = &b

	return c
}

// takeAdaptiveRetries takes adaptiveRetries from the URI.
func (c *ClientOptions) takeAdaptiveRetries() {
	if c.connString.AdaptiveRetriesSet {
		c.AdaptiveRetries = &c.connString.AdaptiveRetries
	}
}

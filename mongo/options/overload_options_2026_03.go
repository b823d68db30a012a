//fork:base <v2.7.0

package options

// ClientOptions holds the client's overload options; see their setters.
//
//fork:extend they are client options as the others
type ClientOptions struct {
	AdaptiveRetries    *bool
	MaxAdaptiveRetries *uint
}

// SetMaxAdaptiveRetries specifies how often the client retries a command after overload errors. The default is 5, in later versions
// of the driver 2. This can also be set through the "maxAdaptiveRetries" URI option (e.g. "maxAdaptiveRetries=2").
//
// Set 1 in programs that end after an operation or two, such as functions and scripts: they cannot learn that an overload lasts, so that
// many of them together would prolong it by their retries. With 0 the client retries nothing after an overload error. SetRetryReads and
// SetRetryWrites still cover network errors and the like.
//
// See the Client Backpressure specification, "Overload retry policy".
func (c *ClientOptions) SetMaxAdaptiveRetries(n uint) *ClientOptions {
	c.MaxAdaptiveRetries = &n

	return c
}

// setURIOpts also takes the overload options from the URI.
//
//fork:wrap they are URI options
func setURIOpts(uri string, opts *ClientOptions) error {
	retErr := upstreamSetURIOpts(uri, opts)
	if retErr != nil {
		return retErr
	}
	if opts.connString.MaxAdaptiveRetriesSet {
		opts.MaxAdaptiveRetries = &opts.connString.MaxAdaptiveRetries
	}
	opts.takeAdaptiveRetries()
	return retErr
}

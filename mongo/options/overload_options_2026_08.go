//fork:base >=v2.7.0

package options

// ClientOptions holds the client's overload options; see their setters.
//
//fork:extend they are client options as the others
type ClientOptions struct {
	AdaptiveRetries *bool
}

// setURIOpts also takes the overload options from the URI.
//
//fork:wrap adaptiveRetries is a URI option
func setURIOpts(uri string, opts *ClientOptions) error {
	retErr := upstreamSetURIOpts(uri, opts)
	if retErr == nil {
		opts.takeAdaptiveRetries()
	}
	return retErr
}

package options

// ClientOptions holds the option adaptiveThrottling.
//
//fork:extend it is a client option as the others
type ClientOptions struct {
	AdaptiveThrottling *bool
}

// setURIOpts also takes the option from the URI.
//
//fork:wrap it is a URI option
func setURIOpts(uri string, opts *ClientOptions) error {
	retErr := upstreamSetURIOpts(uri, opts)
	if retErr == nil && opts.connString.AdaptiveThrottlingSet {
		opts.AdaptiveThrottling = &opts.connString.AdaptiveThrottling
	}
	return retErr
}

// SetAdaptiveThrottling specifies whether the client withholds what an overloaded server would most likely reject. Most applications leave
// it unset. This can also be set through the "adaptiveThrottling" URI option (e.g. "adaptiveThrottling=true"), which drivers of other
// languages may refuse.
//
// Unset, the default, withholds retries: once an overload has lasted for a second, they only take the place of other commands, so most are
// not sent. The first attempt of each command always is. A command whose retry is not sent ends with the server's own error, whose
// RetryError has the reason RetryReasonOverloadLasts. A client that has sent fewer than six commands since the server began to reject some
// has ten retries for them at first. So few applications need SetAdaptiveRetries.
//
// True withholds first attempts, too, so that a server spends its time on what it accepts. Choose it only if overload may last and all or
// most of the server's clients have it: others take what it leaves them, and beside them few of its own operations succeed.
//
// False withholds nothing: as in the Client Backpressure specification's pseudocode, there are up to maxAdaptiveRetries retries, however
// long the overload lasts. They can make an outage of an overload, so do not choose it to get more done.
//
// For each server, the client counts what it recently sent, and what of that the server accepted, reads and writes apart. The less was
// accepted, the more attempts it withholds. These go to another suitable server at once, if there is one that accepts more. If there
// is none and the option is true, the attempt fails as if the server had rejected it. It is retried after a backoff. The retry counts to
// maxAdaptiveRetries and takes a token of SetAdaptiveRetries. Once the overload has lasted for three seconds, most withheld retries
// fail. An operation that ends with such an attempt returns the error of its last attempt that was sent, or if none was sent a
// CommandError with the labels SystemOverloadedError, RetryableError and NoWritesPerformed.
//
// As long as a server rejects nothing, everything is sent to it. The least critical operations are withheld first, see
// mongo.NewCriticalityContext. From a mongos or a load balancer, behind which only one of many servers may be overloaded, only
// retries are withheld. Never withheld are the commands of a transaction after its first and their retries, commitTransaction and
// abortTransaction, the killCursors of cursors, unacknowledged writes, commands that end sessions, monitor servers or establish
// connections, and the first attempts of getMore.
//
// No specification of MongoDB drivers has this option. Client Backpressure says when a retry is permitted; it does not say that a
// permitted one has to be made.
func (c *ClientOptions) SetAdaptiveThrottling(b bool) *ClientOptions {
	c.AdaptiveThrottling = &b

	return c
}

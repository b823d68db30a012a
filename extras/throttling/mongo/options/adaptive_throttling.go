package options

// ClientOptions holds the option adaptiveThrottling.
//
//fork:extend it is a client option as the others
type ClientOptions struct {
	AdaptiveThrottling *bool
}

// SetAdaptiveThrottling specifies whether the client withholds commands from a server that would most likely reject them because
// it is overloaded, so that the server spends its time on what it accepts. The default is false. This can also be set through the
// "adaptiveThrottling" URI option (e.g. "adaptiveThrottling=true").
//
// For each server, the client counts what it recently sent, and what of that the server accepted, reads and writes apart. The less was
// accepted, the more commands it withholds. These go to another suitable server at once, if there is one that accepts more. If there
// is none, the attempt fails as if the server had rejected it. It is retried after a backoff. The retry counts to maxAdaptiveRetries
// and takes a token of SetAdaptiveRetries. Once the overload has lasted for three seconds, most withheld retries fail. An
// operation that ends with such an attempt returns the error of its last attempt that was sent, or if none was sent a CommandError with
// the labels SystemOverloadedError, RetryableError and NoWritesPerformed.
//
// As long as a server rejects nothing, everything is sent to it. The least critical operations are withheld first, see
// mongo.NewCriticalityContext. From a mongos or a load balancer, behind which only one of many servers may be overloaded, only
// retries are withheld. Never withheld are commitTransaction and abortTransaction, the killCursors of cursors, unacknowledged
// writes, commands that end sessions, monitor servers or establish connections, and the first attempts of getMore and of the commands
// of a transaction after its first.
//
// This is not part of any specification of MongoDB drivers.
func (c *ClientOptions) SetAdaptiveThrottling(b bool) *ClientOptions {
	c.AdaptiveThrottling = &b

	return c
}

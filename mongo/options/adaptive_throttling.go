package options

// SetAdaptiveThrottling specifies whether the client keeps commands back from a server that would most likely reject them
// because it is overloaded, so that the server spends its time on what it accepts. The default is false. This can also be set
// through the "adaptiveThrottling" URI option (e.g. "adaptiveThrottling=true").
//
// For each server, the client counts what it had to send of late, and what of that the server accepted. The less was accepted,
// the larger is the part of the commands that it does not send. Those go to another suitable server at once, if there is one
// that accepts more. If there is none, the attempt has failed as if the server had rejected it: it is retried after a backoff, as
// often as other overload errors are, and takes no token of SetAdaptiveRetries. An operation that ends with such an attempt
// returns the error of its last attempt that was sent, if there was one, and else a CommandError with the labels
// SystemOverloadedError, RetryableError and NoWritesPerformed.
//
// As long as a server rejects nothing, all is sent to it. A quarter of the first attempts of commands is sent whatever is known
// of the server. Never kept back are commitTransaction and abortTransaction, the commands of a transaction after its first, the
// getMore and killCursors of cursors, unacknowledged writes, and what ends sessions, monitors servers or establishes
// connections.
//
// This is not part of any specification of MongoDB drivers.
func (c *ClientOptions) SetAdaptiveThrottling(b bool) *ClientOptions {
	c.AdaptiveThrottling = &b

	return c
}

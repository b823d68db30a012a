package options

import "time"

// SetTimeout specifies how long a call of a method may take before it returns an error, if its context has no deadline: a context's
// deadline takes precedence. The default is nil, for no limit; zero is no limit, either, but lets retryable reads and writes be retried
// more than once. This can also be set through the "timeoutMS" URI option, in milliseconds (e.g. "timeoutMS=1000").
//
// The limit is for all that a call does: selecting a server, waiting for a connection and establishing it, encryption with its requests to
// key management services, all commands and their retries. Exceptions are code that the driver does not control: a GSSAPI library's
// requests, providers of credentials and dialers of the application that ignore their context, its monitors and loggers, and the readers
// and writers that it gives to GridFS. A call can last longer than its limit by what these take.
//
// For a cursor and a change stream, the Timeout holds for the call that opens it, and anew for each Next and TryNext. The stream
// of a GridFS upload or download has one Timeout from when it is opened until it is closed. A change stream's MaxAwaitTime must be
// shorter than the time that Next has. In WithTransaction, the Timeout holds for each operation, for the commit and for the abort: a
// deadline of its context is for all of them.
//
// See the Client Side Operations Timeout specification.
//
//fork:replace documents what the limit does not cover, as drivers have to
func (c *ClientOptions) SetTimeout(d time.Duration) *ClientOptions {
	c.Timeout = &d

	return c
}

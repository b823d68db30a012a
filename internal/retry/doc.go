// Package retry decides whether a failed command is sent again.
//
// It holds the overload retry policy of MongoDB's Client Backpressure specification and its interaction with the
// Retryable Reads and Retryable Writes specifications. It only decides: it has no context, no clock, no random source
// of its own and knows no type of the driver. The caller classifies a failure, asks for a Verdict and carries it out.
//
// One Policy belongs to a client. Policy.Start begins the Execution of one command, which takes the outcome of each
// attempt in order. A nil Policy stands for commands that the specification exempts (monitoring, connection
// establishment, authentication): there only the older read and write rules apply.
//
// A Throttle decides whether an attempt is sent at all, for each server of a client with adaptiveThrottling, which is no part
// of the specification.
//
// Rejections has no part in that. It counts a server's overload errors of late, for the choice among servers.
package retry

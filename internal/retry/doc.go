// Package retry decides whether a failed command is sent again.
//
// It holds the overload retry policy of MongoDB's Client Backpressure specification and its interaction with the Retryable Reads
// and Retryable Writes specifications. It only decides: it has no context, no clock and no random source, and knows no type of
// the driver. The caller classifies a failure, asks for a Verdict and carries it out.
//
// One Policy belongs to a client. Policy.Start begins the Execution of one command, which takes the outcome of each attempt in
// order. A nil Policy is for commands that the specification exempts (monitoring, connection establishment, authentication): only
// the older read and write rules apply to them.
package retry

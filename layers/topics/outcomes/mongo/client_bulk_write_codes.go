//fork:base >=v2.10.0

package mongo

// ErrorCodes returns a list of error codes returned by the server, for all commands of the call.
//
//fork:wrap those of commands that were not executed, of which WriteError has the last one's
func (bwe ClientBulkWriteException) ErrorCodes() []int {
	codes := bwe.upstreamErrorCodes()
	if last := len(bwe.failure.commands) - 1; last > 0 {
		codes = append(codes, bulkFailure{commands: bwe.failure.commands[:last]}.codes()...)
	}
	return codes
}

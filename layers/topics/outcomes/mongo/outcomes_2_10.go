//fork:base >=v2.10.0

package mongo

import "go.mongodb.org/mongo-driver/v2/x/mongo/driver"

// withNewerOptions returns the operation with the options that older versions lack.
func (bw *clientBulkWrite) withNewerOptions(op driver.Operation) driver.Operation {
	op.MaxAdaptiveRetries = bw.maxAdaptiveRetries
	op.EnableOverloadRetargeting = bw.enableOverloadRetargeting
	op.SendAfterClusterTime = true
	return op
}

// It has the codes of all commands of the call.
//
//fork:wrap those of commands that were not executed, of which WriteError has the last one's
func (bwe ClientBulkWriteException) ErrorCodes() []int {
	codes := bwe.upstreamErrorCodes()
	if last := len(bwe.failure.commands) - 1; last > 0 {
		codes = append(codes, bulkFailure{commands: bwe.failure.commands[:last]}.codes()...)
	}
	return codes
}

// cursorOptions are the options of the cursor over the results.
func (mb *modelBatches) cursorOptions() driver.CursorOptions {
	return driver.CursorOptions{
		CommandMonitor: mb.client.monitor,
		Crypt:          mb.client.cryptFLE,
		ServerAPI:      mb.client.serverAPI,
		Authenticator:  mb.client.authenticator,
	}
}

// rejectedClientBulkWrite returns the error of a Client.BulkWrite of which nothing was executed: that of its command.
func rejectedClientBulkWrite(err error) error { return err }

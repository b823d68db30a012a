//fork:base <v2.10.0

package mongo

import "go.mongodb.org/mongo-driver/v2/x/mongo/driver"

// withNewerOptions returns the operation: this version has no options that older ones lack.
func (bw *clientBulkWrite) withNewerOptions(op driver.Operation) driver.Operation { return op }

// cursorOptions are the options of the cursor over the results.
func (mb *modelBatches) cursorOptions() driver.CursorOptions {
	return driver.CursorOptions{
		CommandMonitor: mb.client.monitor,
		Crypt:          mb.client.cryptFLE,
		ServerAPI:      mb.client.serverAPI,
	}
}

// rejectedClientBulkWrite returns the error of a Client.BulkWrite of which nothing was executed. Applications of this version know the
// error of a command that performed no writes as an exception.
func rejectedClientBulkWrite(err error) error {
	commandErr, ok := err.(CommandError)
	if !ok || !commandErr.HasErrorLabel(driver.NoWritesPerformed) {
		return err
	}
	return ClientBulkWriteException{
		WriteError: topLevelError(commandErr), Labels: commandErr.Labels,
		failure: bulkFailure{record: commandErr.Wrapped.(bulkRecordError).record, commands: []error{commandErr}},
	}
}

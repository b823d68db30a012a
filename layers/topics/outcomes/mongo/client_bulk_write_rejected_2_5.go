//fork:base <v2.6.0

package mongo

import "go.mongodb.org/mongo-driver/v2/x/mongo/driver"

// rejectedClientBulkWrite returns the error of a Client.BulkWrite of which nothing was executed. Applications of this version know the
// error of a command that performed no writes as an exception.
func rejectedClientBulkWrite(err error) error {
	commandErr, ok := err.(CommandError)
	if !ok || !commandErr.HasErrorLabel(driver.NoWritesPerformed) {
		return err
	}
	return ClientBulkWriteException{
		WriteError: topLevelError(commandErr), Labels: commandErr.Labels,
		failure: bulkFailure{outcome: commandErr.Wrapped.(outcomeError).outcome, commands: []error{commandErr}},
	}
}

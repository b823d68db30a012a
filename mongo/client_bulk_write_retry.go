package mongo

import "go.mongodb.org/mongo-driver/v2/x/mongo/driver"

// SendsCommands tells Operation.Execute that the results of a client bulk write come as a cursor, and
// reading it to the end takes getMore commands.
func (mb *modelBatches) SendsCommands() {}

// BeforeCommands is called before the first attempt to send a batch. Until the first batch is built, it passes for one that can be
// retried, whatever retryWrites says.
//
//fork:watch modelBatches.appendBatches
func (mb *modelBatches) BeforeCommands() {
	if !mb.client.retryWrites {
		mb.retryMode = driver.RetryNone
	}
}

package mongo

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/internal/driverutil"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// execute sends the models, in as many commands as they need. The result has what the server acknowledged, also beside an error; it is not
// acknowledged if the server executed nothing.
//
//fork:replace an error hid what other commands of the call did
func (bw *clientBulkWrite) execute(ctx context.Context) error {
	record, err := bw.send(ctx)
	switch {
	case record != nil:
		err = record.clientBulkWriteException(&bw.result)
		bw.result.Acknowledged = bw.result.Acknowledged && record.executed()
	case err != nil:
		bw.result.Acknowledged = false
	}
	return err
}

// send returns the record of the commands if any of them failed. Otherwise an error says that none was sent, or is ErrUnacknowledgedWrite.
func (bw *clientBulkWrite) send(ctx context.Context) (*bulkRecord, error) {
	for i := range bw.writePairs {
		if bw.writePairs[i].model == nil {
			return nil, fmt.Errorf("error from model at index %d: %w", i, ErrNilDocument)
		}
	}
	err := bw.operation().Execute(ctx)
	failed, ok := err.(driver.BatchesError) // nothing wraps it
	if !ok {
		return nil, err
	}
	record := &bulkRecord{writes: len(bw.writePairs), ordered: failed.Ordered}
	record.add(failed, len(bw.writePairs), nil)
	record.setMany(func(write int) bool {
		switch bw.writePairs[write].model.(type) {
		case *ClientUpdateManyModel, *ClientDeleteManyModel:
			return true
		}
		return false
	})
	return record, nil
}

// operation returns the operation that sends the models. Whether a command can be retried is decided when its batch is built: not if it has
// models of many documents (retryable-writes.md, "Supported Write Operations").
func (bw *clientBulkWrite) operation() driver.Operation {
	batches := &modelBatches{
		client: bw.client, session: bw.session, writePairs: bw.writePairs, result: &bw.result,
		ordered:   bw.ordered == nil || *bw.ordered,
		retryMode: driver.RetryOnce, // until the first batch is built, so that a check-out is retried; retryWrites may turn it off
	}
	return bw.withNewerOptions(driver.Operation{
		Name: driverutil.BulkWriteOp, Type: driver.Write, Database: database, CommandFn: bw.newCommand(),
		Batches: batches, ProcessResponseFn: batches.processResponse, RetryMode: &batches.retryMode,
		Client: bw.session, Selector: bw.selector, WriteConcern: bw.writeConcern, Deployment: bw.client.deployment,
		Clock: bw.client.clock, Timeout: bw.client.timeout, ServerAPI: bw.client.serverAPI, Crypt: bw.client.cryptFLE,
		Authenticator: bw.client.authenticator, CommandMonitor: bw.client.monitor, Logger: bw.client.logger,
	})
}

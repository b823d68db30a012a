package mongo

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/internal/csot"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

//fork:remove bulkWrite.mergeResults results are added where they come

// execute runs the batches, each of models of one kind. All of them together have the client's Timeout
// (client-side-operations-timeout.md, "Sockets and Connections" leaves each command what is left of it).
//
//fork:replace an error hid what other batches did; each batch had the whole timeout
func (bw *bulkWrite) execute(ctx context.Context) error {
	ctx, cancel := csot.WithTimeout(ctx, bw.collection.client.timeout)
	defer cancel()

	ordered := bw.ordered == nil || *bw.ordered
	bw.result = BulkWriteResult{UpsertedIDs: make(map[int64]any), Acknowledged: bw.writeConcern.Acknowledged()}
	var record *bulkRecord // nil until a command fails
	batches := createBatches(bw.models, ordered)
	for _, batch := range batches {
		if len(batch.models) == 0 { // of an unordered write, which has a batch for each kind
			continue
		}
		var err error
		stopped := ordered && record != nil
		if !stopped {
			err = bw.runBatch(ctx, batch)
		}
		if stopped || err != nil && !isUnacknowledged(err) {
			if record == nil {
				record = &bulkRecord{writes: len(bw.models), ordered: ordered}
			}
			record.add(err, len(batch.models), batch.indexes) // without an error if it was not sent
		}
	}
	if !bw.result.Acknowledged { // nothing counts, though there are replies to all commands of an operation but the last
		bw.result = BulkWriteResult{UpsertedIDs: map[int64]any{}}
	}
	if record == nil {
		return nil
	}
	bw.result.Acknowledged = bw.result.Acknowledged && record.executed() // otherwise there is nothing that a server has acknowledged
	return record.exceptionOf(modelsOf(batches, len(bw.models)))
}

// exceptionOf returns the error of a Collection.BulkWrite of the models.
func (o *bulkRecord) exceptionOf(models []WriteModel) error {
	o.setMany(func(write int) bool {
		switch models[write].(type) {
		case *UpdateManyModel, *DeleteManyModel:
			return true
		}
		return false
	})
	return o.bulkWriteException(models)
}

// modelsOf returns the models of the batches, each at its index in the application's slice, which may have others by now.
func modelsOf(batches []bulkWriteBatch, writes int) []WriteModel {
	models := make([]WriteModel, writes)
	for _, batch := range batches {
		for i, index := range batch.indexes {
			models[index] = batch.models[i]
		}
	}
	return models
}

// isUnacknowledged reports whether an operation has sent its last command without waiting for a reply. What replies to earlier commands
// said is no part of the result of such a call.
func isUnacknowledged(err error) bool {
	batches, ok := err.(driver.BatchesError)
	return err == driver.ErrUnacknowledgedWrite || ok && batches.Err == driver.ErrUnacknowledgedWrite
}

// runBatch runs a batch, and adds to the result what the server acknowledges, also beside an error.
//
//fork:replace the result of a batch was lost beside an error
func (bw *bulkWrite) runBatch(ctx context.Context, batch bulkWriteBatch) error {
	switch batch.models[0].(type) {
	case *InsertOneModel:
		res, err := bw.runInsert(ctx, batch)
		bw.result.InsertedCount += res.N
		return err
	case *DeleteOneModel, *DeleteManyModel:
		res, err := bw.runDelete(ctx, batch)
		bw.result.DeletedCount += res.N
		return err
	}
	res, err := bw.runUpdate(ctx, batch)
	for _, upserted := range res.Upserted {
		if malformed := checkUpserted(upserted.Index, batch); malformed != nil {
			return malformed
		}
		bw.result.UpsertedIDs[int64(batch.indexes[upserted.Index])] = upserted.ID
	}
	bw.result.MatchedCount += res.N - int64(len(res.Upserted)) // n counts these, too
	bw.result.ModifiedCount += res.NModified
	bw.result.UpsertedCount += int64(len(res.Upserted))
	return err
}

// checkUpserted returns an error if a reported index of an upserted document is not in the batch.
func checkUpserted(index int64, batch bulkWriteBatch) error {
	if index < 0 || index >= int64(len(batch.models)) {
		err := fmt.Errorf("malformed reply: the server reports that it upserted document %d of a batch of %d",
			index, len(batch.models))
		return driver.BatchesError{
			Err:      err,
			Outcomes: []driver.Outcome{{Kind: driver.OutcomeUnknown, Documents: len(batch.models), Err: err}},
		}
	}
	return nil
}

package mongo

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// clientBulkWriteReply is a server's reply to a batch.
type clientBulkWriteReply struct {
	Ok                                                           bool
	Cursor                                                       bsoncore.Document
	NDeleted, NInserted, NMatched, NModified, NUpserted, NErrors int32
	Code                                                         int32
	Errmsg                                                       string
}

//fork:extend its results come as a cursor
func (bw *clientBulkWrite) execute(ctx context.Context) error {
	return driver.Operation{ReadsResults: true}.Execute(ctx)
}

// processResponse processes the reply to a batch, and reads each model's result from its cursor.
//
//fork:replace a result that is no model's made the client panic, or was lost
func (mb *modelBatches) processResponse(ctx context.Context, resp bsoncore.Document, info driver.ResponseInfo) error {
	concernFailed := mb.keepWriteConcernError(info.Error)
	if interruption, ok := info.Error.(backpressure.Interruption); ok {
		return mb.interrupted(interruption, info.CurrentIndex > 0)
	}
	if len(resp) == 0 {
		return nil
	}
	var reply clientBulkWriteReply
	if err := bson.Unmarshal(resp, &reply); err != nil {
		return err
	}
	if !reply.Ok {
		failed := mb.exception()
		failed.WriteError = &WriteError{Code: int(reply.Code), Message: reply.Errmsg, Raw: bson.Raw(resp)}
		return failed
	}
	mb.result.add(reply)
	allWritten, err := mb.readResults(ctx, reply.Cursor, info)
	if err != nil {
		return err
	}
	if mb.ordered && (concernFailed || !allWritten || reply.NErrors > 0) {
		return mb.exception()
	}
	return nil
}

// keepWriteConcernError keeps the reply's write concern error, and reports whether there is one.
func (mb *modelBatches) keepWriteConcernError(failure error) bool {
	var failed driver.WriteCommandError
	if !errors.As(failure, &failed) || failed.WriteConcernError == nil {
		return false
	}
	mb.writeConcernErrors = append(mb.writeConcernErrors, *convertDriverWriteConcernError(failed.WriteConcernError))
	return true
}

// interrupted returns the error of an interrupted bulk write. The caller would make an exception without the interruption.
func (mb *modelBatches) interrupted(interruption backpressure.Interruption, partial bool) error {
	if len(mb.writeConcernErrors) == 0 && len(mb.writeErrors) == 0 {
		return interruption
	}
	failed := mb.exception()
	if !partial {
		failed.PartialResult = nil
	}
	mb.writeConcernErrors, mb.writeErrors = nil, nil
	return interruption.Around(failed)
}

// exception returns the error of the bulk write so far.
func (mb *modelBatches) exception() ClientBulkWriteException {
	return ClientBulkWriteException{WriteConcernErrors: mb.writeConcernErrors, WriteErrors: mb.writeErrors, PartialResult: mb.result}
}

// add adds the counts of a batch, if its writes are acknowledged.
func (r *ClientBulkWriteResult) add(batch clientBulkWriteReply) {
	if !r.Acknowledged {
		return
	}
	r.InsertedCount += int64(batch.NInserted)
	r.MatchedCount += int64(batch.NMatched)
	r.ModifiedCount += int64(batch.NModified)
	r.UpsertedCount += int64(batch.NUpserted)
	r.DeletedCount += int64(batch.NDeleted)
}

// readResults reads the cursor of a reply to its end, and reports whether all writes that it names were made.
func (mb *modelBatches) readResults(ctx context.Context, reply bsoncore.Document, info driver.ResponseInfo) (bool, error) {
	response, err := driver.NewCursorResponse(reply, info)
	if err != nil {
		return false, err
	}
	batches, err := driver.NewBatchCursor(response, mb.session, mb.client.clock, mb.cursorOptions())
	if err != nil {
		return false, err
	}
	// The timeout that counts is the one of the whole bulk write, in ctx. This one is for cursors that applications see.
	timeout := withCursorOptionClientTimeout(mb.client.timeout)
	cursor, err := newCursor(batches, mb.client.bsonOpts, mb.client.registry, timeout)
	if err != nil {
		return false, err
	}
	defer cursor.discard(ctx)

	allWritten := true
	for cursor.Next(ctx) {
		var result cursorInfo
		if err := cursor.Decode(&result); err != nil {
			return false, err
		}
		handle, err := mb.handlerOf(result, cursor.Current)
		if err != nil {
			return false, err
		}
		allWritten = handle(&result, cursor.Current) && allWritten
	}
	return allWritten, cursor.Err()
}

// handlerOf returns the handler of a result, which names its model by the model's index in the batch.
func (mb *modelBatches) handlerOf(result cursorInfo, raw bson.Raw) (func(*cursorInfo, bson.Raw) bool, error) {
	if _, ok := raw.Lookup("idx").AsInt64OK(); !ok {
		return nil, errors.New("malformed reply: a result of the bulk write does not tell which model it is of")
	}
	if result.Idx < 0 || int(result.Idx) >= len(mb.cursorHandlers) || mb.cursorHandlers[result.Idx] == nil {
		return nil, fmt.Errorf("malformed reply: the server reports a result of model %d of a batch of %d", result.Idx,
			len(mb.cursorHandlers))
	}
	return mb.cursorHandlers[result.Idx], nil
}

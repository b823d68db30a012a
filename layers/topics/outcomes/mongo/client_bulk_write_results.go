package mongo

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// clientBulkWriteReply is a server's reply to a batch.
type clientBulkWriteReply struct {
	Cursor                                                       bsoncore.Document
	NDeleted, NInserted, NMatched, NModified, NUpserted, NErrors int32
}

// ReadsResults says that the results of a batch come as a cursor.
func (mb *modelBatches) ReadsResults() {}

// processResponse processes the reply to a batch that the server executed: it adds its counts to the result, and reads each model's result
// from its cursor. The error tells which models failed.
//
//fork:replace a result that is no model's made the client panic, or was lost
func (mb *modelBatches) processResponse(ctx context.Context, resp bsoncore.Document, info driver.ResponseInfo) error {
	var reply clientBulkWriteReply
	if err := bson.Unmarshal(resp, &reply); err != nil {
		return driver.ResultsError{Unread: len(mb.cursorHandlers), Err: err} // any of its models may have failed
	}
	mb.result.add(reply)
	err := mb.readResults(ctx, reply.Cursor, info)
	failed := mb.takeWriteErrors()
	unread := int(reply.NErrors) - len(failed)
	if unread < 0 { // what the results say counts more than their number
		unread = 0
	}
	if len(failed) == 0 && unread == 0 {
		return err
	}
	return driver.ResultsError{WriteErrors: failed, Unread: unread, Err: err}
}

// takeWriteErrors returns the write errors of the batch, with indexes in it. They go into its Outcome, of which the error of the whole call
// is made, so that an error of another batch cannot hide them (bulk-write.md, "Handling Errors").
func (mb *modelBatches) takeWriteErrors() driver.WriteErrors {
	failed := make(driver.WriteErrors, 0, len(mb.writeErrors))
	for index, e := range mb.writeErrors {
		failed = append(failed, driver.WriteError{
			Index: int64(index - mb.offset), Code: int64(e.Code), Message: e.Message,
			Details: bsoncore.Document(e.Details), Raw: bsoncore.Document(e.Raw),
		})
	}
	mb.writeErrors = nil
	return failed
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

// readResults reads the cursor of a reply to its end.
func (mb *modelBatches) readResults(ctx context.Context, reply bsoncore.Document, info driver.ResponseInfo) error {
	response, err := driver.NewCursorResponse(reply, info)
	if err != nil {
		return err
	}
	batches, err := driver.NewBatchCursor(response, mb.session, mb.client.clock, mb.cursorOptions())
	if err != nil {
		return err
	}
	// The timeout that counts is the one of the whole bulk write, in ctx. This one is for cursors that applications see.
	timeout := withCursorOptionClientTimeout(mb.client.timeout)
	cursor, err := newCursor(batches, mb.client.bsonOpts, mb.client.registry, timeout)
	if err != nil {
		return err
	}
	if closer, ok := any(cursor).(interface{ discard(context.Context) }); ok { // see Cursor.discard
		defer closer.discard(ctx)
	} else {
		defer cursor.Close(ctx)
	}

	for cursor.Next(ctx) {
		var result cursorInfo
		if err := cursor.Decode(&result); err != nil {
			return err
		}
		handle, err := mb.handlerOf(result, cursor.Current)
		if err != nil {
			return err
		}
		handle(&result, cursor.Current) // whether it failed is also in mb.writeErrors
	}
	return cursor.Err()
}

// handlerOf returns the handler of a result, which names its model by the model's index in the batch.
func (mb *modelBatches) handlerOf(result cursorInfo, raw bson.Raw) (func(*cursorInfo, bson.Raw) bool, error) {
	if _, ok := raw.Lookup("idx").AsInt64OK(); !ok {
		return nil, errors.New("malformed reply: a result of the bulk write does not say which model it is for")
	}
	if result.Idx < 0 || int(result.Idx) >= len(mb.cursorHandlers) || mb.cursorHandlers[result.Idx] == nil {
		return nil, fmt.Errorf("malformed reply: the server reports a result of model %d of a batch of %d", result.Idx,
			len(mb.cursorHandlers))
	}
	return mb.cursorHandlers[result.Idx], nil
}

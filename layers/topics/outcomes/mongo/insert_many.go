package mongo

import (
	"context"
	"fmt"
	"reflect"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// InsertMany executes an insert command to insert several documents into the collection. If some of them cannot be inserted by the
// server during the operation, for example because of a duplicate key, the error is a BulkWriteException.
//
// The documents parameter must be a slice of the documents to insert, which cannot be nil or empty, and whose elements must all be
// non-nil. A document that has no _id field when it is transformed into BSON gets one there; the application's own document is not
// modified. The _id values of the inserted documents are in the InsertedIDs field of the returned InsertManyResult.
//
// The opts parameter can be used to specify options for the operation (see the documentation of options.InsertManyOptions).
//
// If the server has executed any of the commands that the documents need, the result is not nil beside an error, and has the _id values of
// the documents that were inserted.
//
// For more information about the command, see https://www.mongodb.com/docs/manual/reference/command/insert/.
//
//fork:replace an error hid what other commands of the call did; an interrupted write tells the context's error as well
func (coll *Collection) InsertMany(
	ctx context.Context, documents any, opts ...options.Lister[options.InsertManyOptions],
) (*InsertManyResult, error) {
	slice := reflect.ValueOf(documents)
	switch {
	case slice.Kind() != reflect.Slice:
		return nil, fmt.Errorf("invalid documents: %w", ErrNotSlice)
	case slice.Len() == 0:
		return nil, fmt.Errorf("invalid documents: %w", ErrEmptySlice)
	}
	docs := make([]any, slice.Len())
	for i := range docs {
		docs[i] = slice.Index(i).Interface()
	}

	ids, err := coll.insert(ctx, docs, opts...)
	if failed, ok := err.(driver.BatchesError); ok && !isUnacknowledged(err) {
		return insertedSome(ids, failed)
	}
	result, err := processWriteError(err)
	if err != nil {
		return nil, err
	}
	return &InsertManyResult{InsertedIDs: ids, Acknowledged: result.isAcknowledged()}, nil
}

// insertedSome returns the result and the error of an InsertMany of documents with these _id values that has failed.
func insertedSome(ids []any, failed driver.BatchesError) (*InsertManyResult, error) {
	record := &bulkRecord{writes: len(ids), ordered: failed.Ordered}
	record.add(failed, len(ids), nil)
	err := record.bulkWriteException(nil)
	if !record.executed() {
		return nil, err
	}
	inserted := []any{}
	for i, state := range record.states() {
		if state == writeDone {
			inserted = append(inserted, ids[i])
		}
	}
	return &InsertManyResult{InsertedIDs: inserted, Acknowledged: true}, err
}

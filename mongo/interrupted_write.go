package mongo

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// wrapErrors converts errors of the driver's packages to those that applications see.
//
//fork:wrap a write that was interrupted before a retry has two errors: the server's, and the context's; labels of the outer error
func wrapErrors(err error) error {
	if err == nil {
		return nil
	}
	if interruption, ok := err.(backpressure.Interruption); ok {
		_, exception := upstreamProcessWriteError(interruption.Err)
		return interruption.Around(exception)
	}
	return withOuterLabels(upstreamWrapErrors(err), err)
}

// processWriteError converts the error of a write.
//
//fork:wrap a write that was interrupted before a retry has two errors: the server's, and the context's
func processWriteError(err error) (returnResult, error) {
	interruption, ok := err.(backpressure.Interruption)
	if !ok {
		return upstreamProcessWriteError(err)
	}
	result, exception := upstreamProcessWriteError(interruption.Err)
	return result, interruption.Around(exception)
}

// withOuterLabels adds the labels of a retryable write and of a retryable overload error to a CommandError that was made of an error with
// them. CommandErrors take those of the command that failed; if that was one of the handshake, the error around it knows what the
// connection was for, and whether the server may be overloaded.
func withOuterLabels(wrapped, err error) error {
	e, ok := wrapped.(CommandError)
	if !ok {
		return wrapped
	}
	e.Labels = e.Labels[:len(e.Labels):len(e.Labels)]
	for _, label := range []string{driver.RetryableWriteError, driver.ErrSystemOverloadedError, driver.ErrRetryableError} {
		if !e.HasErrorLabel(label) && errorHasLabel(err, label) {
			e.Labels = append(e.Labels, label)
		}
	}
	return e
}

// InsertMany executes an insert command to insert several documents into the collection. If some of them cannot be inserted by the
// server during the operation, for example because of a duplicate key, the error is a BulkWriteException.
//
// The documents parameter must be a slice of the documents to insert, which cannot be nil or empty, and whose elements must all be
// non-nil. A document that has no _id field when it is transformed into BSON gets one there; the application's own document is not
// modified. The _id values of the inserted documents are in the InsertedIDs field of the returned InsertManyResult.
//
// The opts parameter can be used to specify options for the operation (see the documentation of options.InsertManyOptions).
//
// For more information about the command, see https://www.mongodb.com/docs/manual/reference/command/insert/.
//
//fork:replace an interrupted write tells the context's error as well
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
	result, err := processWriteError(err)
	if result&rrMany == 0 {
		return nil, err
	}
	return &InsertManyResult{InsertedIDs: ids, Acknowledged: result.isAcknowledged()}, ofManyDocuments(err)
}

// ofManyDocuments returns the error of a write of many documents.
func ofManyDocuments(err error) error {
	var failed WriteException
	if !errors.As(err, &failed) {
		return err
	}
	exception := BulkWriteException{WriteErrors: []BulkWriteError{}, WriteConcernError: failed.WriteConcernError, Labels: failed.Labels}
	for _, writeError := range failed.WriteErrors {
		exception.WriteErrors = append(exception.WriteErrors, BulkWriteError{WriteError: writeError})
	}
	if interruption, ok := err.(backpressure.Interruption); ok {
		return interruption.Around(exception)
	}
	return exception
}

// note keeps the interruption of a batch, and returns the batch's error. The exception that is made of that has no place for it.
func (bw *bulkWrite) note(err error) error {
	if interruption, ok := err.(backpressure.Interruption); ok {
		bw.interruption = &interruption
	}
	return err
}

// execute executes the bulk write. Another error than the exception of its batches is the last one's alone.
//
//fork:wrap an interrupted write tells the context's error as well
func (bw *bulkWrite) execute(ctx context.Context) error {
	retErr := bw.upstreamExecute(ctx)
	if exception, ok := retErr.(BulkWriteException); ok && bw.interruption != nil {
		retErr = bw.interruption.Around(exception)
	}
	return retErr
}

//fork:wrap an interrupted write tells the context's error as well
func (bw *bulkWrite) runInsert(ctx context.Context, batch bulkWriteBatch) (insertResult, error) {
	res, retErr := bw.upstreamRunInsert(ctx, batch)
	return res, bw.note(retErr)
}

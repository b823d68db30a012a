//fork:base <v2.10.0

package unified

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// transactionError is an error of WithTransaction, which a test may expect.
type transactionError struct{ error }

// callbackError is the first error of the operations of a callback.
type callbackError struct{ err error }

type callbackErrorKey struct{}

// executeWithTransaction runs the callback's operations in a transaction. As in an application, the callback returns their first error,
// though the test expects it (unified-test-format.md, "withTransaction").
//
//fork:replace the callback returned no error that was expected, and the error of WithTransaction itself could not be expected
func executeWithTransaction(ctx context.Context, op *operation, loopDone <-chan struct{}) error {
	sess, err := entities(ctx).session(op.Object)
	if err != nil {
		return err
	}
	var callback struct{ Callback []*operation }
	// The other arguments are options of the transaction. The type refuses fields that it does not know, such as the callback.
	var opts transactionOptions
	err = bson.Unmarshal(op.Arguments, &callback)
	if err == nil {
		err = bson.Unmarshal(removeFieldsFromDocument(op.Arguments, "callback"), &opts)
	}
	if err != nil {
		return fmt.Errorf("the arguments of %s: %w", op.Name, err)
	}

	var unexpected error
	_, err = sess.WithTransaction(ctx, func(ctx context.Context) (any, error) {
		first := &callbackError{}
		ctx = context.WithValue(ctx, callbackErrorKey{}, first)
		for i, each := range callback.Callback {
			if err := each.execute(ctx, loopDone); err != nil {
				unexpected = fmt.Errorf("operation %d of the callback, %s: %w", i, each.Name, err)
				return nil, unexpected
			}
		}
		return nil, first.err
	}, opts.TransactionOptionsBuilder)
	if unexpected != nil || err == nil {
		return unexpected
	}
	return transactionError{err}
}

// run executes the operation. Errors are for what no test expects.
//
//fork:wrap the error of WithTransaction is the operation's; a callback has to know the errors of its operations
func (op *operation) run(ctx context.Context, loopDone <-chan struct{}) (*operationResult, error) {
	res, err := op.upstreamRun(ctx, loopDone)
	var failed transactionError
	if errors.As(err, &failed) {
		res, err = &operationResult{Err: failed.error}, nil
	}
	if first, ok := ctx.Value(callbackErrorKey{}).(*callbackError); ok && res != nil && first.err == nil {
		first.err = res.Err
	}
	return res, err
}

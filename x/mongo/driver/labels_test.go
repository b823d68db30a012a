package driver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
)

// TestWithLabelChangesACopy is about errors that share the array of their labels, which has room for more.
func TestWithLabelChangesACopy(t *testing.T) {
	array := []string{NetworkError, "untouched", "untouched"}
	plain := Error{Labels: array[:1]}
	for _, err := range []error{plain, WriteCommandError{Labels: array[:1]}, fmt.Errorf("wrapped: %w", plain)} {
		first, second := withLabel(err, RetryableWriteError), withLabel(err, TransientTransactionError)
		assert.Equal(t, []string{NetworkError, RetryableWriteError}, backpressure.LabelsInChain(first), "%T", err)
		assert.Equal(t, []string{NetworkError, TransientTransactionError}, backpressure.LabelsInChain(second), "%T", err)
		assert.Equal(t, []string{NetworkError}, backpressure.LabelsInChain(err), "%T", err)
		_ = withoutLabel(err, NetworkError)
		assert.Equal(t, []string{NetworkError, "untouched", "untouched"}, array, "%T", err)
		assert.Equal(t, first, withLabel(first, RetryableWriteError), "no label twice: %T", err)
	}
}

// TestExecutionLabelsACopy is about each place that labels an error.
func TestExecutionLabelsACopy(t *testing.T) {
	array := []string{NetworkError, "untouched", "untouched", "untouched"}
	failed := attempt{err: Error{Labels: array[:1]}, stage: sent, retryEnabled: true}
	ex := operationRun{}
	ex.op.Type = Write
	_ = ex.addRetryableWriteError(&failed, true)
	_ = commitFailed(WriteCommandError{Labels: array[:1], WriteConcernError: &WriteConcernError{Code: 64}})
	errs := attemptErrors{inTxn: true}
	errs.record(&failed)
	_ = errs.toReturn(&attempt{err: Error{Labels: []string{TransientTransactionError}}, stage: selecting})
	assert.Equal(t, []string{NetworkError, "untouched", "untouched", "untouched"}, array)
}

func TestWithLabelWraps(t *testing.T) {
	cause := errors.New("no server")
	err := withLabel(cause, TransientTransactionError)
	assert.True(t, errors.Is(err, cause))
	assert.Equal(t, "no server", strings.TrimSpace(err.Error()))
	assert.Equal(t, []string{TransientTransactionError}, backpressure.LabelsInChain(err))
	assert.Equal(t, cause, withoutLabel(cause, TransientTransactionError))
	all := []string{NetworkError, TransientTransactionError, UnknownTransactionCommitResult, RetryableWriteError, NoWritesPerformed,
		ErrSystemOverloadedError, ErrRetryableError}
	assert.Equal(t, all, backpressure.LabelsInChain(Error{Labels: all}))
	assert.Equal(t, all[:1], backpressure.LabelsInChain(withoutLabel(withLabel(err, NetworkError), TransientTransactionError)))
}

// TestGatheredWriteErrors is about the second command of a write whose first had an error: what the operation returns has both errors, with
// the documents' places in the whole write, and the first one's write concern error, also if no retry of the second command was sent or if
// its time was up.
func TestGatheredWriteErrors(t *testing.T) {
	failed := func() WriteCommandError { return WriteCommandError{WriteErrors: []WriteError{{Index: 1}}} }
	executed := &attempt{stage: sent, err: failed()}
	refused := errors.New("refused")
	interrupted := backpressure.Interruption{Err: failed(), When: "in the backoff", Cause: context.Canceled}
	for name, tt := range map[string]struct {
		ordered bool
		last    *attempt
		err     error
		goesOn  bool
		returns error
	}{
		"unordered":                    {last: executed, err: failed(), goesOn: true},
		"ordered":                      {ordered: true, last: executed, err: failed()},
		"a retry that was not sent":    {last: &attempt{stage: selecting}, err: failed()},
		"not executed":                 {last: &attempt{stage: selecting}, err: refused, returns: refused},
		"an interruption":              {last: &attempt{stage: selecting}, err: interrupted, returns: context.Canceled},
		"another error than a write's": {last: &attempt{stage: selecting}, err: refused, returns: refused},
	} {
		ordered := tt.ordered
		ex := &operationRun{op: Operation{Batches: &Batches{Ordered: &ordered}}, currIndex: 100}
		concern := &WriteConcernError{Code: 64}
		w := &gatheredErrors{ex: ex, all: WriteCommandError{WriteErrors: []WriteError{{Index: 7}}, WriteConcernError: concern}}
		last := executed
		if name == "not executed" {
			last = nil
		}
		err := w.conclude(context.Background(), tt.last, last, tt.err)
		assert.Equal(t, tt.goesOn, err == nil, name)
		if tt.goesOn {
			err = w.written()
		}
		assert.Equal(t, err, w.around(err), name)
		if tt.returns != nil {
			assert.ErrorIs(t, err, tt.returns, name)
		}
		var all WriteCommandError
		if assert.Equal(t, tt.returns != refused, errors.As(err, &all), name); tt.returns != refused {
			assert.Equal(t, WriteErrors{{Index: 7}, {Index: 101}}, all.WriteErrors, name)
			assert.Equal(t, concern, all.WriteConcernError, name)
		}
	}
}

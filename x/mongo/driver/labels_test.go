package driver

import (
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
	errs := map[string]error{
		"command error": Error{Labels: array[:1]},
		"write error":   WriteCommandError{Labels: array[:1]},
		"wrapped":       fmt.Errorf("wrapped: %w", Error{Labels: array[:1]}),
	}
	for name, err := range errs {
		t.Run(name, func(t *testing.T) {
			first, second := withLabel(err, RetryableWriteError), withLabel(err, TransientTransactionError)
			assert.Equal(t, []string{NetworkError, RetryableWriteError}, backpressure.LabelsInChain(first))
			assert.Equal(t, []string{NetworkError, TransientTransactionError}, backpressure.LabelsInChain(second))
			assert.Equal(t, []string{NetworkError}, backpressure.LabelsInChain(err))
			_ = withoutLabel(err, NetworkError)
			assert.Equal(t, []string{NetworkError, "untouched", "untouched"}, array)
			assert.Equal(t, first, withLabel(first, RetryableWriteError), "no label twice")
		})
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
	assert.Empty(t, backpressure.LabelsInChain(withoutLabel(err, TransientTransactionError)))
}

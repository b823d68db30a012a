package driver

import (
	"context"
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
)

// TestGatheredWriteErrors is about the second command of a write whose first had an error: what the operation returns has both errors, with
// the documents' places in the whole write, and the first one's write concern error, also if no retry of the second command was sent or if its time was up.
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

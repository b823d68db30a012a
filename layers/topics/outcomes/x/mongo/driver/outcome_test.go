package driver_test

import (
	"context"
	"io"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// TestOutcomes is about a write of six documents in three batches: what each of those did that did not simply succeed, and which documents
// were not sent. What a reply says of them comes with the reply.
func TestOutcomes(t *testing.T) {
	type outcome struct {
		kind             driver.OutcomeKind
		first, documents int
	}
	reply := func(field string, value any) bson.D { return scripted.OK(bson.E{Key: field, Value: value}) }
	duplicate := reply("writeErrors", bson.A{bson.D{{Key: "index", Value: 1}, {Key: "code", Value: 11000}}})
	rejected := scripted.Repeat(6, scripted.Rejected())
	closed := scripted.Repeat(2, io.ErrUnexpectedEOF)
	ok, unsent := scripted.OK(), outcome{driver.OutcomeUnsent, 4, 2}
	noDocument := reply("writeErrors", bson.A{bson.D{{Key: "index", Value: 2}, {Key: "code", Value: 11000}}})
	withoutConcern := then(then([]any{scripted.Rejected(), retryableWriteConcern}, rejected[:4]...), ok, ok)
	for name, tt := range map[string]struct {
		replies []any
		ordered bool
		replied bool
		want    []outcome
	}{
		"all succeed":               {scripted.Repeat(3, ok), true, true, nil},
		"the second is rejected":    {then([]any{ok}, rejected...), true, true, []outcome{{driver.OutcomeRejected, 2, 2}, unsent}},
		"the second fails":          {[]any{ok, scripted.Failure(13)}, true, true, []outcome{{driver.OutcomeFailed, 2, 2}, unsent}},
		"the second may be done":    {then([]any{ok}, closed...), true, false, []outcome{{driver.OutcomeUnknown, 2, 2}, unsent}},
		"it tells of another one's": {[]any{ok, noDocument}, true, true, []outcome{{driver.OutcomeUnknown, 2, 2}, unsent}},
		"the last was interrupted":  {[]any{ok, ok, scripted.Failure(50)}, true, true, []outcome{{driver.OutcomeUnknown, 4, 2}}},
		"the first finds no server": {[]any{scripted.NoServer{Err: io.EOF}}, true, false, []outcome{{driver.OutcomeUnsent, 0, 6}}},
		"a duplicate ends a write":  {[]any{ok, duplicate}, true, true, []outcome{{driver.OutcomeExecuted, 2, 2}, unsent}},
		"but no unordered one": {[]any{duplicate, ok, duplicate}, false, true,
			[]outcome{{driver.OutcomeExecuted, 0, 2}, {driver.OutcomeExecuted, 4, 2}}},
		"without the write concern, and then rejected": {withoutConcern, true, true, []outcome{{driver.OutcomeExecuted, 0, 2}}},
	} {
		ordered := tt.ordered
		s := scripted.New(t, tt.replies...)
		op := s.Write()
		op.Batches = &driver.Batches{Identifier: "documents", Documents: documents(6), Ordered: &ordered}
		err := s.Execute(context.Background(), op)
		var got []outcome
		if tt.want != nil {
			failed, ok := err.(driver.BatchesError)
			require.True(t, ok, "%s: %T", name, err)
			for _, o := range failed.Outcomes {
				got = append(got, outcome{o.Kind, o.First, o.Documents})
				assert.Equal(t, o.Kind != driver.OutcomeUnsent && tt.replied, replied(o.Err) || o.Written.Raw != nil, "%s: %v", name, o.Kind)
			}
			assert.Equal(t, tt.replied, replied(failed.Err), "%s", name)
		}
		assert.Equal(t, tt.want, got, "%s", name)
		assert.Equal(t, tt.want == nil, err == nil, "%s: %v", name, err)
	}
}

// TestOutcomeOfLateRetries is about a write that missed its write concern, and was perhaps rejected then, until there was no time left.
func TestOutcomeOfLateRetries(t *testing.T) {
	for _, rejected := range [][]any{nil, {scripted.Rejected()}} {
		ctx, s := scripted.NewContext(), scripted.New(t, then([]any{retryableWriteConcern}, rejected...)...)
		s.OnSelect = func() error {
			if len(s.Replies) == 0 {
				ctx.End(context.Canceled)
			}
			return ctx.Err()
		}
		outcome := scripted.As[driver.BatchesError](t, s.Execute(ctx, batchedWrite(s))).Outcomes[0]
		assert.ErrorContains(t, outcome.Err, "no time for a retry: context canceled")
		assert.Equal(t, rejected != nil, backpressure.IsRetryableOverload(outcome.Err), "%v", outcome.Err)
	}
}

// batchedWrite returns a write in two batches.
func batchedWrite(s *scripted.Script) driver.Operation {
	op := s.Write()
	op.Batches = &driver.Batches{Identifier: "documents", Documents: documents(3)}
	return op
}

// replied reports whether an error has a reply.
func replied(err error) bool {
	switch e := err.(type) {
	case driver.Error:
		return e.Raw != nil
	case driver.WriteCommandError:
		return e.Raw != nil
	}
	return false
}

// TestTextOfResultsError: why results could not be read is told before the write errors among them.
func TestTextOfResultsError(t *testing.T) {
	failed := driver.WriteErrors{{Message: "duplicate"}}
	assert.Equal(t, failed.Error(), driver.ResultsError{WriteErrors: failed}.Error())
	assert.Equal(t, io.EOF.Error(), driver.ResultsError{WriteErrors: failed, Err: io.EOF}.Error())
}

package driver_test

import (
	"context"
	"io"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
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
	for name, tt := range map[string]struct {
		replies   []any
		unordered bool
		lost      bool // there is no reply
		want      []outcome
	}{
		"all succeed": {replies: scripted.Repeat(3, scripted.OK())},
		"the second is rejected": {replies: then([]any{scripted.OK()}, rejected...),
			want: []outcome{{driver.OutcomeRejected, 2, 2}, {driver.OutcomeUnsent, 4, 2}}},
		"the second fails": {replies: []any{scripted.OK(), scripted.Failure(13)},
			want: []outcome{{driver.OutcomeFailed, 2, 2}, {driver.OutcomeUnsent, 4, 2}}},
		"the second may be executed": {replies: then([]any{scripted.OK()}, closed...), lost: true,
			want: []outcome{{driver.OutcomeUnknown, 2, 2}, {driver.OutcomeUnsent, 4, 2}}},
		"the second tells of a document that it does not have": {
			replies: []any{scripted.OK(), reply("writeErrors", bson.A{bson.D{{Key: "index", Value: 2}, {Key: "code", Value: 11000}}})},
			want:    []outcome{{driver.OutcomeUnknown, 2, 2}, {driver.OutcomeUnsent, 4, 2}}},
		"the last was interrupted": {replies: []any{scripted.OK(), scripted.OK(), scripted.Failure(50)},
			want: []outcome{{driver.OutcomeUnknown, 4, 2}}},
		"the first finds no server": {replies: []any{scripted.NoServer{Err: io.EOF}}, lost: true, want: []outcome{{driver.OutcomeUnsent, 0, 6}}},
		"a duplicate ends an ordered write": {replies: []any{scripted.OK(), duplicate},
			want: []outcome{{driver.OutcomeExecuted, 2, 2}, {driver.OutcomeUnsent, 4, 2}}},
		"duplicates of an unordered write": {replies: []any{duplicate, scripted.OK(), duplicate}, unordered: true,
			want: []outcome{{driver.OutcomeExecuted, 0, 2}, {driver.OutcomeExecuted, 4, 2}}},
		"without the write concern, and then rejected": {
			replies: then(then([]any{scripted.Rejected(), retryableWriteConcern}, rejected[:4]...), scripted.OK(), scripted.OK()),
			want:    []outcome{{driver.OutcomeExecuted, 0, 2}}},
	} {
		s := scripted.New(t, tt.replies...)
		op := s.Write()
		ordered := !tt.unordered
		op.Batches = &driver.Batches{Identifier: "documents", Documents: documents(6), Ordered: &ordered}
		err := s.Execute(context.Background(), op)
		var got []outcome
		if tt.want != nil {
			failed, ok := err.(driver.BatchesError)
			require.True(t, ok, "%s: %T", name, err)
			for _, o := range failed.Outcomes {
				got = append(got, outcome{o.Kind, o.First, o.Documents})
				assert.Equal(t, o.Kind != driver.OutcomeUnsent && !tt.lost, replied(o.Err) || o.Written.Raw != nil, "%s: %v", name, o.Kind)
			}
			assert.Equal(t, !tt.lost, replied(failed.Err), "%s", name)
		}
		assert.Equal(t, tt.want, got, "%s", name)
		assert.Equal(t, tt.want == nil, err == nil, "%s: %v", name, err)
	}
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

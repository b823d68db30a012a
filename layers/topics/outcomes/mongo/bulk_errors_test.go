package mongo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

var _ = noted("outcomes")

// TestBulkOutcomeOfOtherErrors is about errors that hold no outcome.
func TestBulkOutcomeOfOtherErrors(t *testing.T) {
	s := scripted.New(t)
	s.Rest = scripted.OK(concernError(64))
	coll := connectScript(t, s).Database("db").Collection("coll")
	_, err := coll.InsertMany(context.Background(), []any{anything, anything})
	var failed BulkWriteException
	require.True(t, errors.As(err, &failed), "%T", err)
	_, invalid := coll.InsertMany(context.Background(), []any{anything, make(chan int)})
	require.Error(t, invalid)

	for name, tt := range map[string]struct {
		err                              error
		done, failed, notExecuted, other int
	}{
		"none":                    {err: nil, done: 2},
		"wrapped":                 {err: fmt.Errorf("wrapped: %w", err), done: 2},
		"its text":                {err: fmt.Errorf("its text: %v", err), other: 2},
		"its fields":              {err: BulkWriteException{WriteConcernError: failed.WriteConcernError}, other: 2},
		"another":                 {err: errors.New("another"), other: 2},
		"what cannot be encoded":  {err: invalid, failed: 2},
		"a client that is closed": {err: ErrClientDisconnected, notExecuted: 2},
	} {
		outcome := BulkOutcome(tt.err, 2)
		assert.Len(t, outcome.Done, tt.done, name)
		assert.Len(t, outcome.Failed, tt.failed, name)
		assert.Len(t, outcome.NotExecuted, tt.notExecuted, name)
		assert.Len(t, outcome.Unknown, tt.other, name)
	}
}

// TestBulkWriteOfAModelThatCannotBeEncoded is about a call of which one command is rejected, and another cannot be built.
func TestBulkWriteOfAModelThatCannotBeEncoded(t *testing.T) {
	s := scripted.New(t)
	s.Rest = scripted.Rejected()
	_, err := connectScript(t, s).Database("db").Collection("coll").BulkWrite(context.Background(), []WriteModel{
		NewInsertOneModel().SetDocument(anything),
		NewUpdateOneModel().SetFilter(anything).SetUpdate(bson.D{{Key: "$set", Value: make(chan int)}}),
	}, options.BulkWrite().SetOrdered(false))
	var failed BulkWriteException
	require.True(t, errors.As(err, &failed), "%T", err)
	var marshaling MarshalError
	assert.True(t, errors.As(err, &marshaling) && marshaling.Value != nil && marshaling.Err != nil, "%v", err)
	assert.True(t, failed.HasErrorLabel(driver.ErrSystemOverloadedError))
	outcome := BulkOutcome(err, 2)
	assert.Equal(t, []int{0}, outcome.NotExecuted)
	assert.Error(t, outcome.Failed[1])
}

// TestBulkWriteExceptionsAgree is about the methods of an exception of two commands: one misses its write concern, the next fails.
func TestBulkWriteExceptionsAgree(t *testing.T) {
	failure := bson.D{{Key: "ok", Value: 0}, {Key: "code", Value: 13}, {Key: "errmsg", Value: "unauthorized"}}
	s := scripted.New(t, scripted.OK(concernError(64)), scripted.OK(concernError(79)), failure)
	coll := connectScript(t, s).Database("db").Collection("coll")
	docs := make([]any, 3*scripted.MaxBatchCount)
	for i := range docs {
		docs[i] = anything
	}
	_, err := coll.InsertMany(context.Background(), docs)
	failed, ok := err.(BulkWriteException)
	require.True(t, ok, "%T", err)
	message := failed.WriteConcernErrors[0].Message
	for code, text := range map[int]string{64: message, 79: failed.WriteConcernErrors[1].Message, 13: "unauthorized"} {
		assert.True(t, failed.HasErrorCode(code), "%d", code)
		assert.True(t, failed.HasErrorMessage(text), "%d", code)
		assert.True(t, failed.HasErrorCodeWithMessage(code, text), "%d", code)
		assert.False(t, failed.HasErrorCodeWithMessage(code, "of no error"), "%d", code)
	}
}

// TestClientBulkWriteRepliesThatDisagree is about replies whose number of errors is not that of the results, or that are of other types.
func TestClientBulkWriteRepliesThatDisagree(t *testing.T) {
	duplicate := resultOf(int32(0), 0)
	for name, tt := range map[string]struct {
		reply                 bson.D
		done, failed, unknown int
	}{
		"no number":       {scripted.OK(firstBatch(0, duplicate)), 1, 1, 0},
		"a larger number": {scripted.OK(firstBatch(0, duplicate), bson.E{Key: "nErrors", Value: int32(2)}), 0, 1, 1},
		"a text":          {scripted.OK(firstBatch(0), bson.E{Key: "nErrors", Value: "one"}), 0, 0, 2},
	} {
		s := scripted.New(t, tt.reply)
		_, err := connectScript(t, s).BulkWrite(context.Background(), inserts(2), options.ClientBulkWrite().SetOrdered(false))
		require.Error(t, err, name)
		outcome := BulkOutcome(err, 2)
		assert.Len(t, outcome.Done, tt.done, name)
		assert.Len(t, outcome.Failed, tt.failed, name)
		assert.Len(t, outcome.Unknown, tt.unknown, name)
		assert.NotContains(t, err.Error(), "-1", name)
		assert.Equal(t, name == "a larger number", strings.Contains(err.Error(), "lack 1 write errors"), name)
	}
}

// TestLoadBalancedBulkWrite is about a bulk write whose results take a getMore on the connection that they came by.
func TestLoadBalancedBulkWrite(t *testing.T) {
	result := func(idx int) bson.D {
		return bson.D{{Key: "ok", Value: 1}, {Key: "idx", Value: idx}, {Key: "n", Value: 1}}
	}
	more := scripted.OK(firstBatch(7))
	last := scripted.OK(nextBatch(0, result(0)))
	all := scripted.OK(firstBatch(0, result(0)))
	overloaded := scripted.Overloaded()

	tests := []struct {
		name        string
		replies     []any
		connections []int
		failing     bool
	}{
		{name: "getMore for each of two batches", replies: []any{more, last, more, last}, connections: []int{1, 1, 2, 2}},
		{name: "getMore for the first", replies: []any{more, last, all}, connections: []int{1, 1, 2}},
		{name: "getMore for the second", replies: []any{all, more, last}, connections: []int{1, 2, 2}},
		{name: "no getMore", replies: []any{all, all}, connections: []int{1, 2}},
		{name: "overload everywhere", replies: []any{overloaded, more, overloaded, last, overloaded, more, overloaded, last},
			connections: []int{1, 2, 2, 2, 3, 4, 4, 4}},
		{name: "getMore fails, and the cursor is killed", replies: []any{more, scripted.Failure(1), scripted.OK()},
			connections: []int{1, 1, 1}, failing: true},
	}
	insert := &ClientInsertOneModel{Document: bson.D{}}
	var writes []ClientBulkWrite
	for i := 0; i < scripted.MaxBatchCount+1; i++ {
		writes = append(writes, ClientBulkWrite{Database: "db", Collection: "coll", Model: insert})
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			s := newLoadBalancedScript(t, tt.replies...)
			_, err := connectScript(t, s).BulkWrite(context.Background(), writes)
			s.Finish()
			assert.Equal(t, tt.failing, err != nil, "got %v", err)
			assert.Equal(t, tt.connections, connections(s))
		})
	}
}

// TestClientBulkWriteOfNothing is about writes that are none: nothing is sent.
func TestClientBulkWriteOfNothing(t *testing.T) {
	client := connectScript(t, scripted.New(t))
	_, err := client.BulkWrite(context.Background(), nil)
	assert.ErrorIs(t, err, ErrEmptySlice)
	_, err = client.BulkWrite(context.Background(), append(inserts(1), ClientBulkWrite{Database: "db", Collection: "a"}))
	assert.ErrorIs(t, err, ErrNilDocument)
	assert.ErrorContains(t, err, "index 1")
}

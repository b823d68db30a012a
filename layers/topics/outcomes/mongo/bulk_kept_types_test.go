package mongo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"
)

func insertNumbered(ctx context.Context, coll *Collection) error {
	_, err := coll.InsertOne(ctx, numbered(0))
	return err
}

// TestBulkCallsKeepTypes is about calls of which nothing was executed, because their first or only command failed with something that is no
// CommandError: the error is of the same type as that of an InsertOne, and wraps the same.
func TestBulkCallsKeepTypes(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for name, tt := range map[string]struct {
		reply any
		ctx   context.Context
		is    error
	}{
		"no server":     {reply: scripted.NoServer{Err: io.EOF}, is: io.EOF},
		"no connection": {reply: scripted.NoConnection{Err: io.ErrNoProgress}, is: io.ErrNoProgress},
		"cleared pool":  {reply: scripted.PoolCleared{}},
		"cancelled":     {ctx: ended, is: context.Canceled},
		"old storage engine": {reply: bson.D{{Key: "ok", Value: 0}, {Key: "code", Value: 20},
			{Key: "errmsg", Value: "Transaction numbers are only allowed on a replica set member or mongos"}},
			is: driver.ErrUnsupportedStorageEngine},
	} {
		for _, commands := range []int{1, 2} {
			for _, ordered := range []bool{true, false} {
				run := func(call func(context.Context, *Collection) error) error {
					s := scripted.New(t, scripted.Repeat(12, tt.reply)...)
					client := connectScript(t, s)
					ctx := tt.ctx
					if ctx == nil {
						ctx = context.Background()
					} else {
						s.OnSelect = ctx.Err
					}
					return call(ctx, client.Database("db").Collection("coll"))
				}
				want := run(insertNumbered)
				require.Error(t, want, name)
				for _, call := range bulkCalls {
					if call.name == "BulkWrite of three kinds" {
						continue // it has several operations, which all fail
					}
					writes := commands * scripted.MaxBatchCount
					got := run(func(ctx context.Context, coll *Collection) error {
						_, err := call.run(ctx, coll, writes, ordered)
						return err
					})
					of := fmt.Sprintf("%s: %s of %d commands, ordered %v: %T %v, not %T %v", name, call.name, commands, ordered, got, got, want, want)
					assert.Equal(t, fmt.Sprintf("%T", want), fmt.Sprintf("%T", got), "%s", of)
					assert.True(t, tt.is == nil || errors.Is(got, tt.is) && errors.Is(want, tt.is), "%s", of)
				}
			}
		}
	}
}

// TestUnacknowledgedBulkCalls is about calls whose write concern is unacknowledged. The driver does not wait for the reply to the last
// command of an operation, so that the result counts nothing, whatever the replies to earlier commands say.
func TestUnacknowledgedBulkCalls(t *testing.T) {
	for _, call := range bulkCalls {
		if call.name == "Client.BulkWrite, verbose" {
			continue // which has to be acknowledged
		}
		for _, plan := range [][]commandEnd{{}, {commandEnds[1]}} { // all are accepted; the first command finds a duplicate
			s := scripted.New(t)
			m := &modelServer{t: t, plan: plan, executed: map[int]int{}, replies: map[int64]bson.D{}}
			s.Rest = m.answer
			client := connectScript(t, s, options.Client().SetWriteConcern(writeconcern.Unacknowledged()))
			result, err := call.run(context.Background(), client.Database("db").Collection("coll"), 3*scripted.MaxBatchCount, false)
			count := 0
			if call.name == "InsertMany" { // its result has the _id values of all documents
				count = 3 * scripted.MaxBatchCount
			}
			assert.Equal(t, count, result.count, call.name)
			assert.False(t, result.byServer, call.name)
			assert.Len(t, s.Sent, 3, call.name)
			var failed ClientBulkWriteException // which tells what the replies to earlier commands say
			tells := errors.As(err, &failed) && len(failed.WriteErrors) == 1 && failed.WriteErrors[1].Code == 11000
			assert.Equal(t, call.name == "Client.BulkWrite" && len(plan) > 0, tells, "%s: %v", call.name, err)
			assert.True(t, tells || err == nil, "%s: %v", call.name, err)
		}
	}
}

// TestUnacknowledgedUpserts is about an unacknowledged Collection.BulkWrite: its result has no _id of an upserted document, though the
// reply to the first command has one.
func TestUnacknowledgedUpserts(t *testing.T) {
	s := scripted.New(t)
	s.Rest = scripted.OK(bson.E{Key: "n", Value: 1}, bson.E{Key: "upserted", Value: bson.A{bson.D{{Key: "index", Value: 0}, {Key: "_id", Value: 7}}}})
	client := connectScript(t, s, options.Client().SetWriteConcern(writeconcern.Unacknowledged()))
	models := make([]WriteModel, 2*scripted.MaxBatchCount)
	for i := range models {
		models[i] = NewUpdateOneModel().SetFilter(anything).SetUpdate(increment).SetUpsert(true)
	}
	result, err := client.Database("db").Collection("coll").BulkWrite(context.Background(), models)
	require.NoError(t, err)
	assert.Equal(t, &BulkWriteResult{UpsertedIDs: map[int64]any{}}, result)
	assert.Len(t, s.Sent, 2)
}

// TestBulkWriteOfThreeKindsWithoutServer is about a call of several operations that finds no server: nothing was sent, so that the error is
// that of the selection, and all models can be sent again.
func TestBulkWriteOfThreeKindsWithoutServer(t *testing.T) {
	for _, ordered := range []bool{true, false} {
		s := scripted.New(t, scripted.Repeat(12, any(scripted.NoServer{Err: topology.ServerSelectionError{Wrapped: io.EOF}}))...)
		writes := 3 * scripted.MaxBatchCount
		coll := connectScript(t, s).Database("db").Collection("coll")
		result, err := bulkWriteOf(context.Background(), coll, writes, ordered, func(i int) int { return i / scripted.MaxBatchCount })
		var selection topology.ServerSelectionError
		assert.True(t, errors.As(err, &selection) && errors.Is(err, io.EOF), "ordered %v: %T %v", ordered, err, err)
		var exception BulkWriteException
		assert.False(t, errors.As(err, &exception), "ordered %v: %T", ordered, err)
		assert.Len(t, BulkOutcome(err, writes).NotExecuted, writes, "ordered %v", ordered)
		assert.Equal(t, 0, result.count, "ordered %v", ordered)
		assert.Len(t, s.Sent, 0, "ordered %v", ordered)
	}
}

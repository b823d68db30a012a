package mongo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"
)

func init() { topics["outcomes"] = true }

// TestBulkOutcomeOfOtherErrors is about errors that hold no outcome.
func TestBulkOutcomeOfOtherErrors(t *testing.T) {
	s := lasting(t, scripted.OK(concernError(64)))
	coll := scriptColl(t, s)
	_, err := coll.InsertMany(bgCtx, []any{anything, anything})
	failed := scripted.As[BulkWriteException](t, err)
	res, invalid := coll.InsertMany(bgCtx, []any{anything, make(chan int)})
	require.True(t, res == nil && invalid != nil)
	assert.Equal(t, invalid, BulkOutcome(invalid, 2).Failed[1])

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
		"a client that is closed": {err: ErrClientDisconnected, other: 2},
		"a reply that is lost":    {err: CommandError{Wrapped: topology.ConnectionError{}}, other: 2},
		"no connection is free":   {err: topology.WaitQueueTimeoutError{}, notExecuted: 2},
		"one cannot be made":      {err: topology.ConnectionError{}, notExecuted: 2},
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
	s := lasting(t, scripted.Rejected())
	_, err := scriptColl(t, s).BulkWrite(bgCtx, []WriteModel{
		NewInsertOneModel().SetDocument(anything),
		NewUpdateOneModel().SetFilter(anything).SetUpdate(bson.D{{Key: "$set", Value: make(chan int)}}),
	}, options.BulkWrite().SetOrdered(false))
	failed := scripted.As[BulkWriteException](t, err)
	var marshaling MarshalError
	assert.True(t, errors.As(err, &marshaling) && marshaling.Value != nil && marshaling.Err != nil, "%v", err)
	assert.True(t, failed.HasErrorLabel(driver.ErrSystemOverloadedError))
	assert.Equal(t, []string{driver.RetryableWriteError}, labelsOf(scripted.PoolCleared{}.ForWrite()), "of an error of another type")
	outcome := BulkOutcome(err, 2)
	assert.Equal(t, []int{0}, outcome.NotExecuted)
	assert.Error(t, outcome.Failed[1])
}

// TestBulkWriteExceptionsAgree is about the methods of an exception of two commands: one misses its write concern, the next fails.
func TestBulkWriteExceptionsAgree(t *testing.T) {
	failure := bson.D{{Key: "ok", Value: 0}, {Key: "code", Value: 13}, {Key: "errmsg", Value: "unauthorized"}}
	s := scripted.New(t, scripted.OK(concernError(64)), scripted.OK(concernError(79)), failure)
	_, err := scriptColl(t, s).InsertMany(bgCtx, scripted.Repeat(3*scripted.MaxBatchCount, anything))
	failed, ok := err.(BulkWriteException)
	require.True(t, ok, "%T", err)
	concerns := failed.WriteConcernErrors
	for code, text := range map[int]string{64: concerns[0].Message, 79: concerns[1].Message, 13: "unauthorized"} {
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
		says                  string
	}{
		"no number":       {scripted.OK(firstBatch(0, duplicate)), 1, 1, 0, ""},
		"a larger number": {scripted.OK(firstBatch(0, duplicate), bson.E{Key: "nErrors", Value: int32(2)}), 0, 1, 1, "lack 1 write errors"},
		"a text":          {scripted.OK(firstBatch(0), bson.E{Key: "nErrors", Value: "one"}), 0, 0, 2, "error decoding key nerrors"},
	} {
		s := scripted.New(t, tt.reply)
		_, err := connectScript(t, s).BulkWrite(bgCtx, inserts(2), options.ClientBulkWrite().SetOrdered(false))
		require.Error(t, err, name)
		outcome := BulkOutcome(err, 2)
		assert.Len(t, outcome.Done, tt.done, name)
		assert.Len(t, outcome.Failed, tt.failed, name)
		assert.Len(t, outcome.Unknown, tt.unknown, name)
		assert.NotContains(t, err.Error(), "-1", name)
		told := scripted.As[ClientBulkWriteException](t, err, name).WriteError
		assert.True(t, told == nil && tt.says == "" || told != nil && strings.Contains(told.Message, tt.says), "%s: %v", name, told)
	}
}

// TestLoadBalancedBulkWrite is about a bulk write whose results take a getMore on the connection that they came by.
func TestLoadBalancedBulkWrite(t *testing.T) {
	result := bson.D{{Key: "ok", Value: 1}, {Key: "idx", Value: 0}, {Key: "n", Value: 1}}
	more, last, all := emptyOpen, scripted.OK(nextBatch(0, result)), scripted.OK(firstBatch(0, result))
	overloaded, killed := scripted.Overloaded(), map[bool]any{true: scripted.Overloaded(), false: scripted.OK()}[topics["iterators"]]
	for _, tt := range []struct {
		name        string
		replies     []any
		connections []int
		failing     bool
	}{
		{name: "getMore for each of two batches", replies: []any{more, last, more, last}, connections: []int{1, 1, 2, 2}},
		{name: "no getMore", replies: []any{all, all}, connections: []int{1, 2}},
		{name: "overload everywhere", replies: []any{overloaded, more, overloaded, last, overloaded, more, overloaded, last},
			connections: []int{1, 2, 2, 2, 3, 4, 4, 4}},
		{name: "getMore fails, and the cursor is killed, once", replies: []any{more, scripted.Failure(1), killed},
			connections: []int{1, 1, 1}, failing: true},
	} {
		s := newLoadBalancedScript(t, tt.replies...)
		_, err := connectScript(t, s).BulkWrite(bgCtx, inserts(scripted.MaxBatchCount+1))
		s.Finish()
		assert.Equal(t, tt.failing, err != nil, "%s: got %v", tt.name, err)
		assert.Equal(t, tt.connections, connections(s), tt.name)
	}
}

// TestBulkWriteGoesToThePinnedRouter is about a bulk write in a transaction of a sharded cluster.
func TestBulkWriteGoesToThePinnedRouter(t *testing.T) {
	s := newShardedScript(t)
	s.Rest = scripted.OK(firstBatch(0))
	inTransaction(t, s, func(ctx context.Context, _ *Session, coll *Collection) {
		require.NoError(t, insertAny(ctx, coll))
		s.Servers = append(s.Servers[1:], s.Servers[0])
		require.NoError(t, calling("Client.BulkWrite", oneBulkWrite...)(ctx, coll))
	})
	assert.Equal(t, s.Sent[0].Server, s.Sent[1].Server)
}

// TestClientBulkWriteOfNothing is about writes that are none: nothing is sent.
func TestClientBulkWriteOfNothing(t *testing.T) {
	client := connectScript(t, scripted.New(t))
	assert.ErrorIs(t, second(client.BulkWrite(bgCtx, nil)), ErrEmptySlice)
	res, err := client.BulkWrite(bgCtx, append(inserts(1), ClientBulkWrite{Database: "db", Collection: "a"}))
	assert.False(t, res == nil || res.Acknowledged)
	assert.ErrorIs(t, err, ErrNilDocument)
	assert.ErrorContains(t, err, "index 1")
}

// TestBulkWriteHasOneTimeout is about the client's Timeout, which all commands of a call share, of whatever kinds.
func TestBulkWriteHasOneTimeout(t *testing.T) {
	d, coll := newDeadlines(t)
	require.NoError(t, second(coll.BulkWrite(bgCtx, []WriteModel{
		NewInsertOneModel().SetDocument(anything), NewDeleteOneModel().SetFilter(anything), NewInsertOneModel().SetDocument(anything),
	})))
	require.Len(t, d.seen, 3)
	assert.False(t, d.seen[0].IsZero())
	assert.Equal(t, []time.Time{d.seen[0], d.seen[0]}, d.seen[1:])
}

// TestClientBulkWriteResultsTimeOut is about a getMore of the results that times out: so does the call, which tells what was written.
func TestClientBulkWriteResultsTimeOut(t *testing.T) {
	for _, timeout := range []any{context.DeadlineExceeded, scripted.Failure(50)} {
		reply := scripted.OK(firstBatch(7), bson.E{Key: "nInserted", Value: int32(2)}, bson.E{Key: "nErrors", Value: int32(1)})
		s := lasting(t, scripted.OK(), reply, timeout) // killCursors
		res, err := connectScript(t, s).BulkWrite(bgCtx, inserts(2), options.ClientBulkWrite().SetOrdered(false))
		assert.True(t, IsTimeout(err), "got %v", err)
		assert.True(t, errors.Is(err, context.DeadlineExceeded), "got %v", err)
		failed := scripted.As[ClientBulkWriteException](t, err)
		assert.Contains(t, failed.Error(), failed.WriteError.Message)
		assert.NotEmpty(t, failed.WriteError.Message)
		assert.Equal(t, int64(2), res.InsertedCount)
		assert.Equal(t, []int{0, 1}, BulkOutcome(err, 2).Unknown)
	}
}

// TestBulkWriteCleanUpEndsWithTheDeadline is about the cursor of the results.
func TestBulkWriteCleanUpEndsWithTheDeadline(t *testing.T) {
	run := calling("Client.BulkWrite", oneBulkWrite...)
	cleanUpsEndWithTheDeadline(t, cleanUp{name: "Client.BulkWrite", replies: []any{emptyOpen}, run: run,
		commands: "bulkWrite getMore getMore getMore getMore killCursors"})
}

// TestInterruptedBulkWrite is about the second of two models, sent in its own command: the interruption must not hide that it failed.
func TestInterruptedBulkWrite(t *testing.T) {
	failed := scripted.OK(
		writeErrorsAt(0), concernError(462),
		bson.E{Key: "errorLabels", Value: bson.A{driver.ErrSystemOverloadedError, driver.ErrRetryableError}},
	)
	models := []WriteModel{NewDeleteOneModel().SetFilter(bson.D{}), NewInsertOneModel().SetDocument(bson.D{})}
	s := scripted.New(t, scripted.OK(), failed)
	_, err := scriptColl(t, s).BulkWrite(endsInBackoff(s, context.DeadlineExceeded), models)
	s.Finish()

	assert.True(t, errors.Is(err, context.DeadlineExceeded), "%v does not wrap the context's error", err)
	exception := scripted.As[BulkWriteException](t, err)
	require.Len(t, exception.WriteErrors, 1)
	assert.Equal(t, 1, exception.WriteErrors[0].Index)
	assert.Equal(t, models[1], exception.WriteErrors[0].Request)
	assert.Equal(t, []string{driver.ErrSystemOverloadedError}, exception.Labels, "the first was deleted")
}

// TestInterruptedBulkWriteWithoutServer is about the batch after an interrupted one, for which there is no server: its error is told once.
func TestInterruptedBulkWriteWithoutServer(t *testing.T) {
	s := scripted.New(t, executedButOverloaded, scripted.NoServer{Err: context.DeadlineExceeded})
	ctx := endsInBackoff(s, context.DeadlineExceeded)
	models := []WriteModel{NewInsertOneModel().SetDocument(bson.D{}), NewDeleteOneModel().SetFilter(bson.D{})}
	_, err := scriptColl(t, s).BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
	s.Finish()

	require.Error(t, err)
	assert.Equal(t, 1, strings.Count(err.Error(), context.DeadlineExceeded.Error()), err.Error())
}

// TestBulkCallsKeepTypes is about calls of which nothing was executed, because their first or only command failed with something that is no
// CommandError: the error is of the same type as that of an InsertOne, and wraps the same.
func TestBulkCallsKeepTypes(t *testing.T) {
	ended, cancel := context.WithCancel(bgCtx)
	cancel()
	for name, tt := range map[string]struct {
		reply any
		ctx   context.Context
		is    error
	}{
		"no server":     {scripted.NoServer{Err: io.EOF}, bgCtx, io.EOF},
		"no connection": {scripted.NoConnection{Err: io.ErrNoProgress}, bgCtx, io.ErrNoProgress},
		"cleared pool":  {scripted.PoolCleared{}, bgCtx, nil},
		"cancelled":     {nil, ended, context.Canceled},
		"old storage engine": {bson.D{{Key: "ok", Value: 0}, {Key: "code", Value: 20}, {Key: "errmsg",
			Value: "Transaction numbers are only allowed on a replica set member or mongos"}}, bgCtx, driver.ErrUnsupportedStorageEngine},
	} {
		for _, commands := range []int{1, 2} {
			for _, ordered := range []bool{true, false} {
				run := func(call func(context.Context, *Collection) error) error {
					s := scripted.New(t, scripted.Repeat(12, tt.reply)...)
					s.OnSelect = tt.ctx.Err
					return call(tt.ctx, scriptColl(t, s))
				}
				want := run(calling("Collection.InsertOne", numbered(0)))
				require.Error(t, want, name)
				for _, call := range bulkCalls {
					if call.name == "BulkWrite of three kinds" {
						continue // it has several operations, which all fail
					}
					writes := commands * scripted.MaxBatchCount
					got := run(func(ctx context.Context, coll *Collection) error { return second(call.run(ctx, coll, writes, ordered)) })
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
			_, s := newModel(t, plan...)
			coll := scriptColl(t, s, options.Client().SetWriteConcern(writeconcern.Unacknowledged()))
			result, err := call.run(bgCtx, coll, 3*scripted.MaxBatchCount, false)
			count := 0
			if call.name == "InsertMany" { // its result has the _id values of all documents
				count = 3 * scripted.MaxBatchCount
			}
			assert.Equal(t, count, result.count, call.name)
			assert.Len(t, result.names, count, "%s: also of upserts", call.name)
			assert.False(t, result.byServer, call.name)
			assert.Len(t, s.Sent, 3, call.name)
			var failed ClientBulkWriteException // which tells what the replies to earlier commands say
			tells := errors.As(err, &failed) && len(failed.WriteErrors) == 1 && failed.WriteErrors[1].Code == 11000
			assert.Equal(t, call.name == "Client.BulkWrite" && len(plan) > 0, tells, "%s: %v", call.name, err)
			assert.True(t, tells || err == nil, "%s: %v", call.name, err)
		}
	}
}

// TestBulkWriteOfThreeKindsWithoutServer is about a call of several operations that finds no server: nothing was sent, so that the error is
// that of the selection, and all models can be sent again.
func TestBulkWriteOfThreeKindsWithoutServer(t *testing.T) {
	for _, ordered := range []bool{true, false} {
		s := scripted.New(t, scripted.Repeat(12, any(scripted.NoServer{Err: topology.ServerSelectionError{Wrapped: io.EOF}}))...)
		writes := 3 * scripted.MaxBatchCount
		result, err := bulkWriteOf(bgCtx, scriptColl(t, s), writes, ordered, func(i int) int { return i / scripted.MaxBatchCount })
		var selection topology.ServerSelectionError
		assert.True(t, errors.As(err, &selection) && errors.Is(err, io.EOF), "ordered %v: %T %v", ordered, err, err)
		assert.False(t, errors.As(err, new(BulkWriteException)), "ordered %v: %T", ordered, err)
		assert.Len(t, BulkOutcome(err, writes).NotExecuted, writes, "ordered %v", ordered)
		assert.Equal(t, 0, result.count, "ordered %v", ordered)
		assert.Len(t, s.Sent, 0, "ordered %v", ordered)
	}
}

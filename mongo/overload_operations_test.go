package mongo

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// singleCommands are methods that send a single command.
var singleCommands = map[string]func(context.Context, *Collection) error{
	"InsertOne":        insertAny,
	"InsertMany":       calling("Collection.InsertMany", []any{anything}),
	"DeleteOne":        calling("Collection.DeleteOne", anything),
	"UpdateOne":        calling("Collection.UpdateOne", anything, increment),
	"UpdateMany":       calling("Collection.UpdateMany", anything, increment),
	"FindOneAndDelete": calling("Collection.FindOneAndDelete", anything),
	"BulkWrite":        calling("Collection.BulkWrite", []WriteModel{NewInsertOneModel().SetDocument(anything)}),
	"client BulkWrite": calling("Client.BulkWrite", oneBulkWrite...),
	"Drop":             calling("Collection.Drop"),
	"RunCommand":       calling("Database.RunCommand", replaced),
	"FindOne":          calling("Collection.FindOne", anything),
	"Ping":             calling("Client.Ping", nil),
}

// TestRejectedWriteIsNoSuccess is about a server from 8.2.6 on: a client without retries must not take the write for done.
func TestRejectedWriteIsNoSuccess(t *testing.T) {
	for name, run := range singleCommands {
		s := scripted.New(t, scripted.Rejected())
		s.Policy.RetryReads, s.Policy.RetryWrites = false, false
		err := run(bgCtx, scriptColl(t, s))
		s.Finish()
		assert.True(t, errorHasLabel(err, driver.NoWritesPerformed), "%s: got %T (%v)", name, err, err)
	}
}

// client-backpressure/tests, "Test 2: Token Bucket Capacity is Enforced".
func TestBackpressureProse2(t *testing.T) {
	l := scripted.Listen(t, scripted.OK(), nil)
	client := must(Connect(options.Client().ApplyURI(l.URI()).SetAdaptiveRetries(true)))(t)
	defer func() { _ = client.Disconnect(bgCtx) }()

	bucket := backpressure.PolicyOf(client.deployment).Bucket
	assert.Equal(t, 1000.0, bucket.Tokens())
	require.NoError(t, client.Ping(bgCtx, nil))
	assert.Equal(t, 1000.0, bucket.Tokens())
}

// client-backpressure/tests, "Test 4: Adaptive Retries are Limited by Token Bucket Tokens".
func TestBackpressureProse4(t *testing.T) {
	s := scripted.New(t)
	s.Policy.Bucket = retry.NewTokenBucket()
	client := connectScript(t, s)
	for i := 0; i < 199; i++ {
		s.Replies = scripted.Repeat(6, scripted.Overloaded())
		assertOverloadError(t, findOne(s, client))
	}
	// A command whose context is cancelled during its first backoff has taken one token.
	for i := 0; i < 3; i++ {
		ctx, cancel := context.WithCancel(bgCtx)
		s.Replies, s.OnSleep = []any{scripted.Overloaded()}, cancel
		_ = client.Ping(ctx, nil)
	}
	s.OnSleep, s.Sent = nil, nil
	require.Equal(t, 2.0, s.Policy.Bucket.Tokens())

	s.Replies = scripted.Repeat(3, scripted.Overloaded())
	assertOverloadError(t, findOne(s, client))
	assert.Len(t, s.Sent, 3)
}

func TestRetryTokens(t *testing.T) {
	s := scripted.New(t, scripted.Repeat(6, scripted.Overloaded())...)
	s.Policy.Bucket = retry.NewTokenBucket()
	client := connectScript(t, s)
	full, ok := client.RetryTokens()
	assert.True(t, ok)
	require.Error(t, findOne(s, client))
	less, ok := client.RetryTokens()
	assert.True(t, ok)
	assert.Equal(t, []float64{1000, 995}, []float64{full, less})

	s = scripted.New(t)
	tokens, ok := connectScript(t, s).RetryTokens()
	assert.False(t, ok, "without adaptiveRetries")
	assert.Equal(t, 0.0, tokens)
	s.Policy = nil
	_, ok = connectScript(t, s).RetryTokens()
	assert.False(t, ok, "a deployment without a policy")
}

func connections(s *scripted.Script) []int {
	var numbers []int
	for _, sent := range s.Sent {
		numbers = append(numbers, sent.Connection)
	}
	return numbers
}

func TestLoadBalancedCursorStaysPinned(t *testing.T) {
	s := newLoadBalancedScript(t,
		scripted.Overloaded(), scripted.OK(firstBatch(7, bson.D{})),
		scripted.Overloaded(), scripted.Overloaded(), scripted.OK(nextBatch(0, bson.D{})))
	client := connectScript(t, s)

	cursor := must(client.Database("db").Collection("coll").Find(bgCtx, bson.D{}))(t)
	var docs []bson.D
	require.NoError(t, cursor.All(bgCtx, &docs))
	s.Finish()

	assert.Len(t, docs, 2)
	assert.Equal(t, []int{1, 2, 2, 2, 2}, connections(s), "find is retried on another connection, getMore is not")
}

func TestLoadBalancedTransactionStaysPinned(t *testing.T) {
	transient := scripted.Failure(462, driver.ErrSystemOverloadedError, driver.ErrRetryableError, driver.TransientTransactionError)
	s := newLoadBalancedScript(t,
		scripted.Overloaded(), scripted.OK(), // insert, with startTransaction
		transient, scripted.OK(), // insert
		scripted.Overloaded(), scripted.OK()) // commit
	require.NoError(t, second(transact(bgCtx, t, s, insertAny)))
	s.Finish()
	assert.Equal(t, []int{1, 2, 2, 2, 2, 2}, connections(s),
		"the command that starts it is retried on another connection, the others are not")
	assert.Equal(t, []any{true, true, nil, nil, nil, nil}, s.Field("startTransaction"))
	assert.Equal(t, []any{int64(1), int64(1), int64(1), int64(1), int64(1), int64(1)}, s.Field("txnNumber"))
}

// executedButOverloaded is the reply to a write that the server executed, but could not replicate for overload.
var executedButOverloaded = scripted.OK(scripted.WriteConcernError(462, driver.ErrSystemOverloadedError, driver.ErrRetryableError))

// TestInterruptedWrite is about a context that ends during the backoff after that: an application has to see both.
func TestInterruptedWrite(t *testing.T) {
	for name, run := range singleCommands {
		bulk := name == "InsertMany" || name == "BulkWrite"
		if bulk && !topics["outcomes"] || name == "client BulkWrite" || name == "FindOne" || name == "Ping" { // they tell of none
			continue
		}
		s := scripted.New(t, executedButOverloaded)
		err := run(endsInBackoff(s, context.DeadlineExceeded), scriptColl(t, s))
		s.Finish()

		assert.True(t, IsTimeout(err), "%s: %v is no timeout", name, err)
		assert.True(t, errors.Is(err, context.DeadlineExceeded), name)
		assert.True(t, errorHasLabel(err, driver.ErrSystemOverloadedError), "%s: %v has lost its labels", name, err)
		var found *WriteConcernError
		if bulk {
			found = scripted.As[BulkWriteException](t, err).WriteConcernError
		} else {
			found = scripted.As[WriteException](t, err).WriteConcernError
		}
		require.NotNil(t, found, "%s: got %T (%v)", name, err, err)
		assert.Equal(t, 462, found.Code)
	}
}

// The backoffs of these tests are 9 seconds each, which nobody waits for, and the deadline lets three of them begin.
const (
	longBackoff  = 9 * time.Second
	patience     = 30 * time.Second
	withinPeriod = 3
)

// newImpatientScript returns a script with long backoffs whose servers reject all commands after those with a reply.
func newImpatientScript(t *testing.T, replies ...any) *scripted.Script {
	s := lasting(t, scripted.Overloaded(), replies...)
	s.Policy.FirstBackoff = retry.MaxBackoff
	s.Policy.Jitter = func() float64 { return float64(longBackoff) / float64(retry.MaxBackoff) }
	return s
}

// cleanUp is a call in which the driver sends a command that the end of the caller's time does not cut off, or whose result nobody looks
// at. It has the first replies, after which the servers reject all, and the commands that are then sent within the caller's deadline.
type cleanUp struct {
	name     string
	replies  []any
	run      func(context.Context, *Collection) error
	commands string
}

// cleanUpsEndWithTheDeadline is about commands that the driver does not let the caller's context cut off: the caller does not wait for
// their backoffs beyond the deadline, and there are none for commands whose result nobody looks at. Retries that the deadline or a
// cancelled context prevents cost no tokens.
func cleanUpsEndWithTheDeadline(t *testing.T, calls ...cleanUp) {
	for _, tt := range calls {
		for _, ending := range overloadEndings[:3] {
			t.Run(tt.name+"/"+ending.name, func(t *testing.T) {
				s := newImpatientScript(t, tt.replies...)
				s.Policy.Bucket = retry.NewTokenBucket()
				ctx, cancel := ending.begin(s)
				defer cancel()
				require.Error(t, tt.run(ctx, scriptColl(t, s, ending.opts)))
				s.Finish()
				if ending.cause == nil {
					assert.Equal(t, tt.commands, strings.Join(commandNames(s), " "))
					assert.LessOrEqual(t, s.Elapsed, patience)
				}
				assert.True(t, ending.cause == nil || len(s.Slept) <= 1, "no backoff follows the one that was cancelled")
				assert.InDelta(t, 1000-float64(len(s.Slept)), s.Policy.Bucket.Tokens(), 1)
			})
		}
	}
}

// TestGetMoreIsNotRetried is about an error after which every other read is retried: the cursor may have advanced
// (retryable-reads.md, "Unsupported Read Operations").
func TestGetMoreIsNotRetried(t *testing.T) {
	s := scripted.New(t, emptyOpen, scripted.ShuttingDown(), scripted.OK())
	cursor := must(scriptColl(t, s).Find(bgCtx, bson.D{}))(t)
	assert.False(t, cursor.Next(bgCtx))
	assert.NotNil(t, cursor.Err())
	require.NoError(t, cursor.Close(bgCtx))
	s.Finish()
	assert.Equal(t, []string{"find", "getMore", "killCursors"}, commandNames(s))
}

// TestNextReturnsDocumentsAtHand is about a cursor whose caller's time is up: what it has already got is not lost, only what it would have
// to ask for is a timeout (client-side-operations-timeout.md, "Non-tailable Cursors").
func TestNextReturnsDocumentsAtHand(t *testing.T) {
	s := scripted.New(t, scripted.OK(firstBatch(7, bson.D{}, bson.D{})))
	cursor := must(scriptColl(t, s).Find(bgCtx, bson.D{}))(t)
	ctx, cancel := context.WithDeadline(bgCtx, time.Unix(0, 0))
	defer cancel()
	assert.True(t, cursor.Next(ctx), "got %v", cursor.Err())
	assert.True(t, cursor.Next(ctx), "got %v", cursor.Err())
	assert.False(t, cursor.Next(ctx))
	assert.True(t, IsTimeout(cursor.Err()), "got %v", cursor.Err())
}

package mongo

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

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

// TestNoNegativeTimeout is about an option that would end every operation (client-side-operations-timeout.md, "timeoutMS").
func TestNoNegativeTimeout(t *testing.T) {
	assert.NotNil(t, second(Connect(options.Client().SetTimeout(-time.Second))))
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

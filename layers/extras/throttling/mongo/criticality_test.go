package mongo

import (
	"context"
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
)

func TestCriticalityContext(t *testing.T) {
	type key struct{}
	parent := context.WithValue(context.Background(), key{}, "kept")
	for given, want := range map[Criticality]Criticality{
		Sheddable: Sheddable, Normal: Normal, Critical: Critical, -2: Normal, 2: Normal, 127: Normal,
	} {
		ctx := NewCriticalityContext(parent, given)
		assert.Equal(t, want, CriticalityFromContext(ctx))
		assert.Equal(t, "kept", ctx.Value(key{}))
		assert.Equal(t, Sheddable, CriticalityFromContext(NewCriticalityContext(ctx, Sheddable)), "the last one counts")
	}
	assert.Equal(t, Normal, CriticalityFromContext(parent))
	var zero Criticality
	assert.Equal(t, Normal, zero)
	assert.True(t, Sheddable < Normal && Normal < Critical)
}

// TestCriticalityOfCommands is about which class the commands of an operation have: that of the context that they are sent for.
func TestCriticalityOfCommands(t *testing.T) {
	ok, overloaded := scripted.OK(), scripted.Overloaded()
	opened := scripted.OK(firstBatch(7, bson.D{}))
	exhausted := scripted.OK(nextBatch(0))
	sheddable := NewCriticalityContext(context.Background(), Sheddable)
	critical := NewCriticalityContext(context.Background(), Critical)
	tests := []struct {
		name    string
		replies []any
		run     func(*testing.T, *Client, *Collection)
		want    []string // the class of each rejected command, with its name
	}{
		{name: "not marked", replies: []any{overloaded, ok}, run: func(t *testing.T, _ *Client, c *Collection) {
			require.NoError(t, insertAny(context.Background(), c))
		}, want: []string{"insert normal"}},
		{name: "insert", replies: []any{overloaded, ok}, run: func(t *testing.T, _ *Client, c *Collection) {
			require.NoError(t, insertAny(sheddable, c))
		}, want: []string{"insert sheddable"}},
		{
			name:    "a cursor's later batches, by the context that fetches them",
			replies: []any{overloaded, opened, overloaded, exhausted},
			run: func(t *testing.T, _ *Client, c *Collection) {
				cursor, err := c.Find(critical, bson.D{})
				require.NoError(t, err)
				require.True(t, cursor.Next(sheddable))
				require.False(t, cursor.Next(sheddable))
				require.NoError(t, cursor.Err())
			},
			want: []string{"find critical", "getMore sheddable"},
		},
		{
			name:    "all documents of a cursor",
			replies: []any{opened, overloaded, exhausted},
			run: func(t *testing.T, _ *Client, c *Collection) {
				cursor, err := c.Find(context.Background(), bson.D{})
				require.NoError(t, err)
				var docs []bson.D
				require.NoError(t, cursor.All(sheddable, &docs))
			},
			want: []string{"getMore sheddable"},
		},
		{
			name:    "a transaction",
			replies: []any{overloaded, ok, overloaded, ok, overloaded, ok},
			run: func(t *testing.T, client *Client, c *Collection) {
				session, err := client.StartSession()
				require.NoError(t, err)
				_, err = session.WithTransaction(critical, func(ctx context.Context) (any, error) {
					if err := insertAny(ctx, c); err != nil {
						return nil, err
					}
					return nil, insertAny(ctx, c)
				})
				require.NoError(t, err)
			},
			want: []string{"insert critical", "insert critical", "commitTransaction critical"},
		},
		{
			name:    "an aborted transaction",
			replies: []any{ok, overloaded, ok},
			run: func(t *testing.T, client *Client, c *Collection) {
				session, err := client.StartSession()
				require.NoError(t, err)
				_, err = session.WithTransaction(critical, func(ctx context.Context) (any, error) {
					_ = insertAny(ctx, c)
					return nil, errors.New("changed its mind")
				})
				require.Error(t, err)
			},
			want: []string{"abortTransaction critical"},
		},
		{
			name:    "the transaction of a session",
			replies: []any{overloaded, ok, overloaded, ok},
			run: func(t *testing.T, client *Client, c *Collection) {
				session, err := client.StartSession()
				require.NoError(t, err)
				require.NoError(t, session.StartTransaction())
				require.NoError(t, insertAny(NewSessionContext(critical, session), c))
				require.NoError(t, session.CommitTransaction(critical))
			},
			want: []string{"insert critical", "commitTransaction critical"},
		},
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			s := scripted.New(t, tt.replies...)
			var got []string
			s.Policy.Monitor = &event.RetryMonitor{Decided: func(_ context.Context, e *event.RetryDecidedEvent) {
				got = append(got, e.CommandName+" "+e.Criticality.String())
			}}
			client := connectScript(t, s)
			tt.run(t, client, client.Database("db").Collection("coll"))
			s.Finish()
			assert.Equal(t, tt.want, got)
		})
	}
}

// TestCriticalityDoesNothingByItself: without adaptiveRetries and adaptiveThrottling every class is retried as the specification says.
func TestCriticalityDoesNothingByItself(t *testing.T) {
	for _, class := range []Criticality{Sheddable, Normal, Critical} {
		s := scripted.New(t)
		s.Rest = scripted.Overloaded()
		err := insertAny(NewCriticalityContext(context.Background(), class), connectScript(t, s).Database("db").Collection("coll"))
		var retries *RetryError
		require.True(t, errors.As(err, &retries), "got %v", err)
		assert.Equal(t, 6, retries.Attempts)
		assert.Len(t, s.Sent, 6)
		assert.Len(t, s.Slept, 5)
		assert.Equal(t, class, retries.Criticality)
	}
}

// TestCriticalityAndTokens: what is sheddable is not retried any more when half of the tokens are spent.
func TestCriticalityAndTokens(t *testing.T) {
	s := scripted.New(t)
	s.Policy.Bucket = retry.NewTokenBucket()
	s.Rest = scripted.Overloaded()
	coll := connectScript(t, s).Database("db").Collection("coll")
	retries := func(class Criticality, operations int) int {
		sent := len(s.Sent)
		for i := 0; i < operations; i++ {
			require.Error(t, insertAny(NewCriticalityContext(context.Background(), class), coll))
		}
		return len(s.Sent) - sent - operations
	}
	assert.Equal(t, 500, retries(Sheddable, 200))
	assert.Equal(t, 250, retries(Normal, 50))
	assert.Equal(t, 0, retries(Sheddable, 1))
	assert.Equal(t, 250, retries(Critical, 100))
}

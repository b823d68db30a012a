package driver_test

import (
	"context"
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

func TestExecuteTokenBucket(t *testing.T) {
	const full = 1000

	tests := []struct {
		name    string
		drained int // commands that are given up after five retries, before the one that is tested
		replies []any
		want    float64 // tokens left
	}{
		{name: "a success when full", drained: 0, replies: []any{scripted.OK()}, want: full},
		{name: "a success", drained: 1, replies: []any{scripted.OK()}, want: full - 5 + 0.1},
		{name: "a retry that succeeds", drained: 1, replies: []any{scripted.Overloaded(), scripted.OK()}, want: full - 5 - 1 + 1.1},
		{name: "a retry that fails otherwise", drained: 1, replies: []any{scripted.Overloaded(), scripted.Failure(1)},
			want: full - 5 - 1 + 1},
		{name: "write errors are a success", drained: 1, replies: []any{writeError}, want: full - 5 + 0.1},
		{name: "write errors of a retry are a success", drained: 1, replies: []any{scripted.Overloaded(), writeError},
			want: full - 5 - 1 + 1.1},
		{name: "a retry by another policy", drained: 1, replies: []any{scripted.ShuttingDown(), scripted.OK()},
			want: full - 5 + 1.1},
		{name: "the last token", drained: 199, replies: then(scripted.Repeat(5, scripted.Overloaded()), scripted.OK()), want: 1.1},
		{name: "no token", drained: 200, replies: []any{scripted.Overloaded()}, want: 0},
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			s := scripted.New(t)
			bucket := retry.NewTokenBucket()
			s.Policy.Bucket = bucket
			for i := 0; i < tt.drained; i++ {
				s.Replies = scripted.Repeat(6, scripted.Overloaded())
				require.Error(t, s.Execute(context.Background(), s.Write()))
			}

			s.Replies = tt.replies
			_ = s.Execute(context.Background(), s.Write())
			assert.InDelta(t, tt.want, bucket.Tokens(), 1e-9)
		})
	}
}

// TestExecuteTokensOfUnacknowledgedWrites: nothing is known of how the server fared.
func TestExecuteTokensOfUnacknowledgedWrites(t *testing.T) {
	s := scripted.New(t)
	s.Policy.Bucket = retry.NewTokenBucket()
	s.Replies = scripted.Repeat(6, scripted.Overloaded())
	require.Error(t, s.Execute(context.Background(), s.Write()))

	op := s.Write()
	op.Client = nil
	op.WriteConcern = writeconcern.Unacknowledged()
	assert.Equal(t, driver.ErrUnacknowledgedWrite, s.Execute(context.Background(), op))
	assert.Equal(t, 995.0, s.Policy.Bucket.Tokens())
}

// TestExecuteTokensWithinTheLimit: what is over the limit costs no token.
func TestExecuteTokensWithinTheLimit(t *testing.T) {
	s := scripted.New(t, scripted.Repeat(3, scripted.Overloaded())...)
	s.Policy.MaxRetries = 2
	s.Policy.Bucket = retry.NewTokenBucket()
	require.Error(t, s.Execute(context.Background(), s.Write()))
	assert.Equal(t, 998.0, s.Policy.Bucket.Tokens())
}

// TestExecuteRejectedTooLate is about a rejection that nobody waits for any more: it spends no token.
func TestExecuteRejectedTooLate(t *testing.T) {
	ctx := scripted.NewContext()
	s := scripted.New(t, scripted.Overloaded(), scripted.Overloaded())
	s.Policy.Bucket = retry.NewTokenBucket()
	op := s.Write()
	op.CommandMonitor = &event.CommandMonitor{Failed: func(context.Context, *event.CommandFailedEvent) {
		if len(s.Sent) == 2 {
			ctx.End(context.Canceled)
		}
	}}
	err := s.Execute(ctx, op)
	hasCode(462)(t, err)
	assert.True(t, errors.Is(err, context.Canceled), "%v does not wrap the context's error", err)
	assert.Len(t, s.Slept, 1)
	assert.Equal(t, 999.0, s.Policy.Bucket.Tokens())
}

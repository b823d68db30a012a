package driver_test

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
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

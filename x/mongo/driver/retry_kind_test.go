package driver

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/driverutil"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/session"
)

func TestRetryKind(t *testing.T) {
	tests := []struct {
		name string
		op   Operation
		want retry.Kind
	}{
		{name: "runCommand", op: Operation{}, want: retry.Generic},
		{name: "a command of a name that is not known", op: Operation{Name: "other"}, want: retry.Generic},
		{name: "read", op: Operation{Type: Read}, want: retry.Read},
		{name: "write", op: Operation{Type: Write}, want: retry.Write},
		{name: "aggregate with $out or $merge", op: Operation{Type: Read, IsOutputAggregate: true}, want: retry.Write},
		{name: "getMore", op: Operation{Legacy: LegacyGetMore}, want: retry.Read},
		{name: "killCursors", op: Operation{Legacy: LegacyKillCursors}, want: retry.Read},
		{name: "endSessions", op: Operation{Name: driverutil.EndSessionsOp}, want: retry.Generic},
		{name: "createIndexes", op: Operation{Name: driverutil.CreateIndexesOp}, want: retry.Write},
		{name: "dropIndexes", op: Operation{Name: driverutil.DropIndexesOp}, want: retry.Write},
		{name: "drop", op: Operation{Name: driverutil.DropOp}, want: retry.Write},
		{name: "dropDatabase", op: Operation{Name: driverutil.DropDatabaseOp}, want: retry.Write},
		{name: "create", op: Operation{Name: driverutil.CreateOp}, want: retry.Write},
		{name: "createSearchIndexes", op: Operation{Name: driverutil.CreateSearchIndexesOp}, want: retry.Write},
		{name: "dropSearchIndex", op: Operation{Name: driverutil.DropSearchIndexOp}, want: retry.Write},
		{name: "updateSearchIndex", op: Operation{Name: driverutil.UpdateSearchIndexOp}, want: retry.Write},
		{name: "getMore of a runCommand cursor", op: Operation{Legacy: LegacyGetMore, runCommand: true}, want: retry.Generic},
		{name: "killCursors of a runCommand cursor", op: Operation{Legacy: LegacyKillCursors, runCommand: true}, want: retry.Generic},
		{
			name: "commitTransaction",
			op:   Operation{Type: Write, Client: &session.Client{Committing: true}},
			want: retry.TransactionEnd,
		},
		{
			name: "abortTransaction",
			op:   Operation{Type: Write, Client: &session.Client{Aborting: true}},
			want: retry.TransactionEnd,
		},
		{
			name: "write in a transaction",
			op:   Operation{Type: Write, Client: &session.Client{TransactionState: session.InProgress}},
			want: retry.Write,
		},
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, tt.op.retryKind(context.Background()))
		})
	}
}

// TestRetryKindOfCleanUp is about the context of killCursors whose result nobody looks at: it says nothing of other commands.
func TestRetryKindOfCleanUp(t *testing.T) {
	ctx := backpressure.WithPurpose(context.Background(), backpressure.Purpose{Ignored: true})
	killCursors := Operation{Legacy: LegacyKillCursors}
	assert.Equal(t, retry.CleanUp, killCursors.retryKind(ctx))
	killCursors.runCommand = true
	assert.Equal(t, retry.CleanUp, killCursors.retryKind(ctx), "of a runCommand cursor")
	assert.Equal(t, retry.Read, Operation{Legacy: LegacyGetMore}.retryKind(ctx))
	assert.Equal(t, retry.Write, Operation{Type: Write}.retryKind(ctx))
}

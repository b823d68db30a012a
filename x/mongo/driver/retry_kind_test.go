package driver

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/driverutil"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/session"
)

func TestRetryKind(t *testing.T) {
	deployment := SingleServerDeployment{}

	tests := []struct {
		name string
		op   Operation
		want retry.Kind
	}{
		{"runCommand", Operation{}, retry.Generic},
		{"a command of a name that is not known", Operation{Name: "other"}, retry.Generic},
		{"read", Operation{Type: Read}, retry.Read},
		{"write", Operation{Type: Write}, retry.Write},
		{"aggregate with $out or $merge", Operation{Type: Read, IsOutputAggregate: true}, retry.Write},
		{"getMore", Operation{Legacy: LegacyGetMore}, retry.Read},
		{"killCursors", Operation{Legacy: LegacyKillCursors}, retry.Read},
		{"endSessions", Operation{Name: driverutil.EndSessionsOp}, retry.CleanUp},
		{"createIndexes", Operation{Name: driverutil.CreateIndexesOp}, retry.Write},
		{"dropIndexes", Operation{Name: driverutil.DropIndexesOp}, retry.Write},
		{"drop", Operation{Name: driverutil.DropOp}, retry.Write},
		{"dropDatabase", Operation{Name: driverutil.DropDatabaseOp}, retry.Write},
		{"create and search indexes", Operation{Deployment: WriteDeployment(deployment)}, retry.Write},
		{"marked twice", Operation{Deployment: WriteDeployment(mark(deployment, retry.Generic))}, retry.Write},
		{"getMore of a runCommand cursor", Operation{Legacy: LegacyGetMore, Deployment: mark(deployment, retry.Generic)}, retry.Generic},
		{"commitTransaction", Operation{Type: Write, Client: &session.Client{Committing: true}}, retry.TransactionEnd},
		{"abortTransaction", Operation{Type: Write, Client: &session.Client{Aborting: true}}, retry.TransactionEnd},
		{"write in a transaction", Operation{Type: Write, Client: &session.Client{TransactionState: session.InProgress}}, retry.Write},
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
	ctx := WithCleanUp(context.Background())
	killCursors := Operation{Legacy: LegacyKillCursors}
	assert.Equal(t, retry.CleanUp, killCursors.retryKind(ctx))
	killCursors.Deployment = mark(SingleServerDeployment{}, retry.Generic)
	assert.Equal(t, retry.CleanUp, killCursors.retryKind(ctx), "of a runCommand cursor")
	assert.Equal(t, retry.Read, Operation{Legacy: LegacyGetMore}.retryKind(ctx))
	assert.Equal(t, retry.Write, Operation{Type: Write}.retryKind(ctx))
}

func TestWriteDeploymentOfNone(t *testing.T) {
	assert.Nil(t, WriteDeployment(nil))
}

func TestRunCommandCursorIsMarked(t *testing.T) {
	cursor := &BatchCursor{}
	assert.Equal(t, retry.Read, Operation{Legacy: LegacyGetMore, Deployment: cursor.getOperationDeployment()}.retryKind(context.Background()))
	cursor.MarkRunCommand()
	assert.Equal(t, retry.Generic, Operation{Legacy: LegacyGetMore, Deployment: cursor.getOperationDeployment()}.retryKind(context.Background()))
}

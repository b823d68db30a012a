package driver

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/driverutil"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/session"
)

func TestRetryKind(t *testing.T) {
	for _, tt := range []struct {
		name string
		op   Operation
		want retry.Kind
	}{
		{name: "runCommand", op: Operation{}, want: retry.Generic},
		{name: "a command of a name that is not known", op: Operation{Name: "other"}, want: retry.Generic},
		{name: "read", op: Operation{Type: Read}, want: retry.Read},
		{name: "write", op: Operation{Type: Write}, want: retry.Write},
		{name: "aggregate with $out or $merge", op: Operation{Type: Read, IsOutputAggregate: true}, want: retry.Write},
		{name: "a command that says what it is", op: Operation{Kind: retry.Write}, want: retry.Write},
		{name: "whatever its name or read preference", op: Operation{Name: "create", ReadPreference: readpref.Primary()}, want: retry.Generic},
		{name: "endSessions", op: Operation{Name: driverutil.EndSessionsOp}, want: retry.Generic},
		{name: "commitTransaction", op: Operation{Type: Write, Kind: retry.TransactionEnd}, want: retry.TransactionEnd},
		{name: "write in a transaction", op: Operation{Type: Write, Client: &session.Client{TransactionState: session.InProgress}},
			want: retry.Write},
	} {
		assert.Equal(t, tt.want, tt.op.kind(), tt.name)
	}
}

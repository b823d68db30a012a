package driver_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// TestExecuteCommitWithoutServer is about a commit that waits for a server in vain.
func TestExecuteCommitWithoutServer(t *testing.T) {
	for _, tc := range []struct {
		name, command string
		err           error
		ended         bool
		want          bool
	}{
		{name: "none in time", command: "commitTransaction", err: context.DeadlineExceeded, want: true},
		{name: "ended before", command: "commitTransaction", err: context.Canceled, ended: true, want: false},
		{name: "another error", command: "commitTransaction", err: errors.New("disconnected"), want: false},
		{name: "a monitor's command meanwhile", command: "find", err: context.DeadlineExceeded, want: false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := scripted.New(t)
			s.OnSelect = func() error { return fmt.Errorf("server selection error: %w", tc.err) }
			op := s.Write()
			op.Name, op.Client = tc.command, scripted.Session(t)
			require.NoError(t, op.Client.StartTransaction(nil))
			require.NoError(t, op.Client.ApplyCommand(s.Servers[0]))
			op.Client.Committing = true

			ctx := scripted.NewContext()
			if tc.ended {
				ctx.End(context.Canceled)
			}
			err := s.Execute(ctx, op)
			require.Error(t, err)
			var labelled driver.Error
			got := errors.As(err, &labelled) && labelled.HasErrorLabel(driver.UnknownTransactionCommitResult)
			assert.Equal(t, tc.want, got, "%v", err)
		})
	}
}

package driver_test

import (
	"context"
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

func TestExecuteCommitWithoutMajority(t *testing.T) {
	reply := func(code int32, labels ...string) bson.D {
		d := bson.D{{Key: "ok", Value: 0}, {Key: "code", Value: int32(251)}, {Key: "codeName", Value: "NoSuchTransaction"}}
		if code != 0 {
			d = append(d, bson.E{Key: "writeConcernError", Value: bson.D{{Key: "code", Value: code}}})
		}
		return append(d, bson.E{Key: "errorLabels", Value: labels})
	}
	for _, tc := range []struct {
		name  string
		reply bson.D
		want  bool
	}{
		{name: "write concern timeout", reply: reply(64), want: true},
		{name: "no write concern error", reply: reply(0), want: false},
		{name: "unknown write concern", reply: reply(79), want: false},
		{name: "unsatisfiable write concern", reply: reply(100), want: false},
		{name: "transient", reply: reply(64, driver.TransientTransactionError), want: false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, committing := range []bool{true, false} {
				s := scripted.New(t, tc.reply)
				op := s.Write()
				op.Client = scripted.Session(t)
				require.NoError(t, op.Client.StartTransaction(nil))
				require.NoError(t, op.Client.ApplyCommand(s.Servers[0]))
				op.Client.Committing, op.Client.Aborting = committing, !committing
				op.CommandFn = scripted.Named("commitTransaction")

				var serverErr driver.Error
				require.True(t, errors.As(s.Execute(context.Background(), op), &serverErr), "want a server error")
				assert.Equal(t, int32(251), serverErr.Code)
				assert.Equal(t, tc.want && committing, serverErr.HasErrorLabel(driver.UnknownTransactionCommitResult))
			}
		})
	}
}

// TestCommitFailsWithLabelsOfTheReply is about a commit whose write concern failed: the error has what the reply says.
func TestCommitFailsWithLabelsOfTheReply(t *testing.T) {
	for code, unknown := range map[int32][]string{64: {driver.UnknownTransactionCommitResult}, 100: nil} {
		s := scripted.New(t, scripted.OK(
			bson.E{Key: "errorLabels", Value: []string{"Own"}},
			bson.E{Key: "writeConcernError", Value: bson.D{{Key: "code", Value: code}, {Key: "codeName", Value: "name"}, {Key: "errmsg", Value: "text"}}},
		))
		op := s.Write()
		op.Client = scripted.Session(t)
		require.NoError(t, op.Client.StartTransaction(nil))
		op.Client.Committing = true
		op.CommandFn = scripted.Named("commitTransaction")

		var failed driver.Error
		require.True(t, errors.As(s.Execute(context.Background(), op), &failed), "want a server error")
		assert.Equal(t, append([]string{"Own"}, unknown...), failed.Labels)
		assert.Equal(t, driver.Error{Code: code, Name: "name", Message: "text"}, driver.Error{Code: failed.Code, Name: failed.Name, Message: failed.Message})
		assert.False(t, failed.Raw == nil)
	}
}

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

package mongo

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/drivertest"
)

// A maxTimeMS in the application's command is the only one that is sent.
func TestOwnMaxTimeIsSentAlone(t *testing.T) {
	command := bson.D{{Key: "find", Value: "coll"}, {Key: "maxTimeMS", Value: int32(7)}}
	for name, run := range map[string]func(context.Context, *Database) error{
		"RunCommand": func(ctx context.Context, db *Database) error { return db.RunCommand(ctx, command).Err() },
		"RunCommandCursor": func(ctx context.Context, db *Database) error {
			_, err := db.RunCommandCursor(ctx, command)
			return err
		},
		"Watch": func(ctx context.Context, db *Database) error {
			_, err := db.Watch(ctx, Pipeline{}, options.ChangeStream().SetCustom(bson.M{"maxTimeMS": int32(7)}))
			return err
		},
	} {
		for _, timeout := range []bool{false, true} {
			var sent []bson.Raw
			opts := options.Client().SetMonitor(&event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
				sent = append(sent, e.Command)
			}})
			opts.Deployment = drivertest.NewMockDeployment(bson.D{{Key: "ok", Value: 1}, {Key: "cursor", Value: bson.D{
				{Key: "id", Value: int64(7)}, {Key: "ns", Value: "db.coll"}, {Key: "firstBatch", Value: bson.A{}},
			}}})
			ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
			defer cancel()
			if timeout {
				ctx = context.Background()
				opts.SetTimeout(time.Hour)
			}
			client, err := Connect(opts)
			require.NoError(t, err)
			require.NoError(t, run(ctx, client.Database("db")))
			elements, err := sent[0].Elements()
			require.NoError(t, err)
			var values []int64
			for _, element := range elements {
				if element.Key() == "maxTimeMS" {
					values = append(values, element.Value().AsInt64())
				}
			}
			assert.Equal(t, []int64{7}, values, "%s, with a Timeout: %v", name, timeout)
		}
	}
}

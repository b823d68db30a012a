//fork:base >=v2.10.0

package mongo

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/drivertest"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/xoptions"
)

// Commands that change what there is are retried after overload errors as writes are.
func TestOverloadOfDefinitions(t *testing.T) {
	for name, run := range map[string]func(context.Context, *Database) error{
		"CreateCollection": func(ctx context.Context, db *Database) error { return db.CreateCollection(ctx, "coll") },
		"CreateView":       func(ctx context.Context, db *Database) error { return db.CreateView(ctx, "view", "coll", Pipeline{}) },
		"Collection.Drop":  func(ctx context.Context, db *Database) error { return db.Collection("coll").Drop(ctx) },
		"Database.Drop":    func(ctx context.Context, db *Database) error { return db.Drop(ctx) },
		"SearchIndexes.Drop": func(ctx context.Context, db *Database) error {
			return db.Collection("coll").SearchIndexes().DropOne(ctx, "i")
		},
		"SearchIndexes.Update": func(ctx context.Context, db *Database) error {
			return db.Collection("coll").SearchIndexes().UpdateOne(ctx, "i", bson.D{})
		},
		"SearchIndexes.Create": func(ctx context.Context, db *Database) error {
			_, err := db.Collection("coll").SearchIndexes().CreateMany(ctx, []SearchIndexModel{{Definition: bson.D{}}})
			return err
		},
	} {
		for _, retryWrites := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, retryWrites=%v", name, retryWrites), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					labels := bson.A{"SystemOverloadedError", "RetryableError"}
					rejected := bson.D{{"ok", 0}, {"code", 462}, {"errorLabels", labels}}
					sent := 0
					opts := options.Client().SetRetryWrites(retryWrites).SetMonitor(&event.CommandMonitor{
						Started: func(context.Context, *event.CommandStartedEvent) { sent++ },
					})
					deployment := drivertest.NewMockDeployment(rejected, rejected, bson.D{{"ok", 1}})
					require.NoError(t, xoptions.SetInternalClientOptions(opts, "deployment", deployment))
					client, err := Connect(opts)
					require.NoError(t, err)
					err = run(context.Background(), client.Database("db"))
					if retryWrites {
						assert.NoError(t, err)
						assert.Equal(t, 3, sent, "commands")
					} else {
						assert.NotNil(t, err)
						assert.Equal(t, 1, sent, "commands")
					}
				})
			})
		}
	}
}

package mongo

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// TestRejectedWriteIsNoSuccess is about a server from version 8.2.6 on and a client that does not retry: it
// must not take the write for done.
func TestRejectedWriteIsNoSuccess(t *testing.T) {
	ctx := context.Background()
	tests := map[string]func(*Collection) error{
		"InsertOne": func(c *Collection) error { _, err := c.InsertOne(ctx, bson.D{}); return err },
		"UpdateMany": func(c *Collection) error {
			_, err := c.UpdateMany(ctx, bson.D{}, bson.D{{Key: "$set", Value: bson.D{{Key: "x", Value: 1}}}})
			return err
		},
		"BulkWrite": func(c *Collection) error {
			_, err := c.BulkWrite(ctx, []WriteModel{NewInsertOneModel().SetDocument(bson.D{})})
			return err
		},
		"client BulkWrite": func(c *Collection) error {
			_, err := c.client.BulkWrite(ctx, []ClientBulkWrite{
				{Database: "db", Collection: "coll", Model: &ClientInsertOneModel{Document: bson.D{}}},
			})
			return err
		},
		"Drop":       func(c *Collection) error { return c.Drop(ctx) },
		"RunCommand": func(c *Collection) error { return c.Database().RunCommand(ctx, bson.D{{Key: "x", Value: 1}}).Err() },
		"FindOne":    func(c *Collection) error { return c.FindOne(ctx, bson.D{}).Err() },
	}
	for name, run := range tests {
		run := run
		t.Run(name, func(t *testing.T) {
			s := scripted.New(t, scripted.Rejected())
			s.Policy.RetryReads, s.Policy.RetryWrites = false, false
			err := run(connectScript(t, s).Database("db").Collection("coll"))
			s.Finish()
			require.Error(t, err)
			assert.True(t, errorHasLabel(err, driver.NoWritesPerformed), "got %T (%v)", err, err)
		})
	}
}

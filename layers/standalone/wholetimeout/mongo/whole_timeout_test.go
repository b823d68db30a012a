package mongo

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/drivertest"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
)

// deadlines is a deployment, and its server, that notes until when each command waits for a connection.
type deadlines struct {
	*drivertest.MockDeployment
	seen []time.Time
}

func (d *deadlines) SelectServer(context.Context, description.ServerSelector) (driver.Server, error) {
	return d, nil
}

func (d *deadlines) Connection(ctx context.Context) (*mnet.Connection, error) {
	deadline, limited := ctx.Deadline()
	if !limited {
		return nil, errors.New("no deadline")
	}
	d.seen = append(d.seen, deadline)
	return d.MockDeployment.Connection(ctx)
}

// All commands of a call have one deadline, if the client has a Timeout.
func TestCallsHaveOneDeadline(t *testing.T) {
	const open = 7
	batch := func(name string, id int64) bson.D {
		doc := bson.D{{Key: "name", Value: "a"}, {Key: "type", Value: "collection"}, {Key: "v", Value: 2}, {Key: "key", Value: bson.D{}}}
		return bson.D{{Key: "ok", Value: 1}, {Key: "cursor", Value: bson.D{
			{Key: "id", Value: id}, {Key: "ns", Value: "db.coll"}, {Key: name, Value: bson.A{doc}},
		}}}
	}
	done := bson.D{{Key: "ok", Value: 1}, {Key: "n", Value: 1}}
	lists := []bson.D{batch("firstBatch", open), batch("nextBatch", 0)}
	ctx := context.Background()
	for name, call := range map[string]struct {
		replies []bson.D
		run     func(*Collection) error
	}{
		"BulkWrite": {[]bson.D{done, done}, func(c *Collection) error {
			_, err := c.BulkWrite(ctx, []WriteModel{
				NewInsertOneModel().SetDocument(bson.D{}), NewDeleteOneModel().SetFilter(bson.D{}),
			})
			return err
		}},
		"CreateCollection": {[]bson.D{done}, func(c *Collection) error { return c.Database().CreateCollection(ctx, "coll") }},
		"CreateCollection with encrypted fields": {[]bson.D{done, done, done, done}, func(c *Collection) error {
			opts := options.CreateCollection().SetEncryptedFields(bson.D{})
			return c.Database().CreateCollection(ctx, "coll", opts)
		}},
		"Collection.Drop of encrypted fields": {[]bson.D{done, done, done}, func(c *Collection) error {
			return c.Drop(ctx, options.DropCollection().SetEncryptedFields(bson.D{}))
		}},
		"CreateView": {[]bson.D{done}, func(c *Collection) error {
			return c.Database().CreateView(ctx, "view", "coll", Pipeline{})
		}},
		"Drop": {[]bson.D{done}, func(c *Collection) error { return c.Database().Drop(ctx) }},
		"ListCollectionNames": {lists, func(c *Collection) error {
			_, err := c.Database().ListCollectionNames(ctx, bson.D{})
			return err
		}},
		"ListCollectionSpecifications": {lists, func(c *Collection) error {
			_, err := c.Database().ListCollectionSpecifications(ctx, bson.D{})
			return err
		}},
		"ListSpecifications": {lists, func(c *Collection) error {
			_, err := c.Indexes().ListSpecifications(ctx)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			noted := &deadlines{MockDeployment: drivertest.NewMockDeployment(call.replies...)}
			opts := options.Client().SetTimeout(time.Hour)
			opts.Deployment = noted
			client, err := Connect(opts)
			require.NoError(t, err)
			require.NoError(t, call.run(client.Database("db").Collection("coll")))
			require.True(t, len(noted.seen) >= len(call.replies), "%d connections", len(noted.seen))
			for _, deadline := range noted.seen {
				assert.Equal(t, noted.seen[0], deadline)
			}
		})
	}
}

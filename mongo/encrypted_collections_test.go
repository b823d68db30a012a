package mongo

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// deadlines is a deployment that notes the deadline of each command.
type deadlines struct {
	*scripted.Script
	seen []time.Time
}

func (d *deadlines) SelectServer(ctx context.Context, selector description.ServerSelector) (driver.Server, error) {
	deadline, _ := ctx.Deadline()
	d.seen = append(d.seen, deadline)
	return d.Script.SelectServer(ctx, selector)
}

// TestEncryptedCollectionsHaveOneTimeout is about methods that send several commands for a collection with encrypted fields: all have the
// same deadline (client-side-operations-timeout.md, "Background").
func TestEncryptedCollectionsHaveOneTimeout(t *testing.T) {
	fields := bson.D{{Key: "fields", Value: bson.A{}}}
	for name, run := range map[string]func(context.Context, *Collection) error{
		"Drop": func(ctx context.Context, c *Collection) error {
			return c.Drop(ctx, options.DropCollection().SetEncryptedFields(fields))
		},
		"Drop, known by the server": func(ctx context.Context, c *Collection) error {
			c.client.encryptedFieldsMap = map[string]any{}
			return c.Drop(ctx)
		},
		"CreateCollection": func(ctx context.Context, c *Collection) error {
			return c.Database().CreateCollection(ctx, "coll", options.CreateCollection().SetEncryptedFields(fields))
		},
	} {
		for _, ctx := range []context.Context{context.Background(), nil} {
			d := &deadlines{Script: scripted.New(t)}
			d.Rest = scripted.OK(batch("firstBatch", 0))
			opts := options.Client().SetTimeout(time.Hour)
			opts.Deployment = d
			client, err := Connect(opts)
			require.NoError(t, err)
			if ctx == nil && name == "CreateCollection" {
				continue // which Drop does not accept
			}
			require.NoError(t, run(ctx, client.Database("db").Collection("coll")), name)
			require.GreaterOrEqual(t, len(d.seen), 2, name)
			for i, deadline := range d.seen {
				assert.False(t, deadline.IsZero(), "%s: command %d of %d", name, i, len(d.seen))
				assert.Equal(t, d.seen[0], deadline, "%s: command %d of %d", name, i, len(d.seen))
			}
		}
	}
}

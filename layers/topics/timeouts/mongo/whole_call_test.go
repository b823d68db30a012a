package mongo

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

var _ = noted("timeouts")

// TestOneTimeoutForTheWholeCall is about methods that send several commands, or ask key management services: all have the same deadline
// (client-side-operations-timeout.md, "Background" and "Client Side Encryption"). So do those that send one, but forgot it.
func TestOneTimeoutForTheWholeCall(t *testing.T) {
	fields := bson.D{{Key: "fields", Value: bson.A{}}}
	type vault = func(context.Context, *ClientEncryption, *Collection) error
	for name, tt := range map[string]struct {
		run     func(context.Context, *Collection) error
		encrypt vault
		waits   int // how many commands and requests
	}{
		"Drop": {waits: 3, run: func(ctx context.Context, c *Collection) error {
			return c.Drop(ctx, options.DropCollection().SetEncryptedFields(fields))
		}},
		"Drop, known by the server": {waits: 2, run: func(ctx context.Context, c *Collection) error {
			c.client.encryptedFieldsMap = map[string]any{}
			return c.Drop(ctx)
		}},
		"CreateCollection, encrypted": {waits: 5, run: func(ctx context.Context, c *Collection) error {
			return c.Database().CreateCollection(ctx, "coll", options.CreateCollection().SetEncryptedFields(fields))
		}},
		"CreateCollection": {waits: 1, run: func(ctx context.Context, c *Collection) error {
			return c.Database().CreateCollection(ctx, "coll")
		}},
		"CreateView": {waits: 1, run: func(ctx context.Context, c *Collection) error {
			return c.Database().CreateView(ctx, "view", "coll", Pipeline{})
		}},
		"Database.Drop": {waits: 1, run: func(ctx context.Context, c *Collection) error { return c.Database().Drop(ctx) }},

		"CreateDataKey": {waits: 2, encrypt: func(ctx context.Context, ce *ClientEncryption, _ *Collection) error {
			_, err := ce.CreateDataKey(ctx, "local")
			return err
		}},
		"CreateEncryptedCollection": {waits: 7, encrypt: createEncrypted},
		"Decrypt": {waits: 2, encrypt: func(ctx context.Context, ce *ClientEncryption, _ *Collection) error {
			_, err := ce.Decrypt(ctx, keyID)
			return err
		}},
		"Encrypt": {waits: 2, encrypt: func(ctx context.Context, ce *ClientEncryption, _ *Collection) error {
			_, err := ce.Encrypt(ctx, bson.RawValue{}, options.Encrypt())
			return err
		}},
		"EncryptExpression": {waits: 2, encrypt: func(ctx context.Context, ce *ClientEncryption, _ *Collection) error {
			return ce.EncryptExpression(ctx, anything, &bson.Raw{}, options.Encrypt())
		}},
		"RewrapManyDataKey": {waits: 3, encrypt: rewrapKeys},
	} {
		for _, ctx := range []context.Context{context.Background(), nil} {
			d, coll := newDeadlines(t)
			run := tt.run
			if run == nil {
				run = func(ctx context.Context, c *Collection) error { return tt.encrypt(ctx, encryptionOf(c, d.note), c) }
			}
			require.NoError(t, run(ctx, coll), name)
			require.Len(t, d.seen, tt.waits, name)
			for i, deadline := range d.seen {
				assert.False(t, deadline.IsZero(), "%s: wait %d of %d", name, i, len(d.seen))
				assert.Equal(t, d.seen[0], deadline, "%s: wait %d of %d", name, i, len(d.seen))
			}
		}
	}
}

// TestEveryMethodObeysTheTimeout is about all methods that send commands: each selection of a server has a deadline
// (client-side-operations-timeout.md, "Blocking Sections").
func TestEveryMethodObeysTheTimeout(t *testing.T) {
	for _, method := range sendingMethods() {
		d, coll := newDeadlines(t)
		d.Replies, d.Rest = method.replies, scripted.OK(oneResult, madeIndex)
		_ = method.run(context.Background(), coll)
		require.NotEmpty(t, d.seen, method.name)
		for i, deadline := range d.seen {
			assert.False(t, deadline.IsZero(), "%s: wait %d of %d", method.name, i, len(d.seen))
		}
	}
}

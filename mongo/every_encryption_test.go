package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	mcopts "go.mongodb.org/mongo-driver/v2/x/mongo/driver/mongocrypt/options"
)

// keyVault takes the place of libmongocrypt, which is no Go module and is only linked with the build tag cse. It encrypts nothing, but
// asks for data keys where libmongocrypt does, by the same function, so that ClientEncryption sends the commands that it would send.
type keyVault struct {
	keys keyRetriever
	kms  func(context.Context) // if set, is called where a key management service would be asked
}

var _ driver.Crypt = (*keyVault)(nil)

func (v *keyVault) ask(ctx context.Context) error {
	v.askKMS(ctx)
	_, err := v.keys.cryptKeys(ctx, emptyDocument)
	return err
}

func (v *keyVault) askKMS(ctx context.Context) {
	if v.kms != nil {
		v.kms(ctx)
	}
}

func (v *keyVault) Encrypt(ctx context.Context, _ string, cmd bsoncore.Document) (bsoncore.Document, error) {
	return cmd, v.ask(ctx)
}

func (v *keyVault) Decrypt(ctx context.Context, reply bsoncore.Document) (bsoncore.Document, error) {
	return reply, v.ask(ctx)
}

func (v *keyVault) CreateDataKey(ctx context.Context, _ string, _ *mcopts.DataKeyOptions) (bsoncore.Document, error) {
	v.askKMS(ctx)
	return dataKey, nil
}

func (v *keyVault) EncryptExplicit(ctx context.Context, _ bsoncore.Value, _ *mcopts.ExplicitEncryptionOptions) (byte, []byte, error) {
	return 0, nil, v.ask(ctx)
}

func (v *keyVault) EncryptExplicitExpression(
	ctx context.Context, expr bsoncore.Document, _ *mcopts.ExplicitEncryptionOptions,
) (bsoncore.Document, error) {
	return expr, v.ask(ctx)
}

func (v *keyVault) DecryptExplicit(ctx context.Context, _ byte, _ []byte) (bsoncore.Value, error) {
	return bsoncore.Value{}, v.ask(ctx)
}

func (v *keyVault) RewrapDataKey(ctx context.Context, _ []byte, _ *mcopts.RewrapManyDataKeyOptions) ([]bsoncore.Document, error) {
	return []bsoncore.Document{dataKey}, v.ask(ctx)
}

func (v *keyVault) Close() {}

func (v *keyVault) BypassAutoEncryption() bool { return false }

var (
	emptyDocument = bsoncore.NewDocumentBuilder().Build()
	keyID         = bson.Binary{Subtype: 4, Data: make([]byte, 16)}
	dataKey       = bsoncore.NewDocumentBuilder().AppendBinary("_id", keyID.Subtype, keyID.Data).
			AppendBinary("keyMaterial", 0, []byte("key")).AppendDocument("masterKey", emptyDocument).Build()
	noKeys    = scripted.OK(firstBatch(0))
	encrypted = options.CreateCollection().SetEncryptedFields(bson.D{
		{
			Key:   "fields",
			Value: bson.A{bson.D{{Key: "path", Value: "a"}, {Key: "bsonType", Value: "string"}, {Key: "keyId", Value: nil}}},
		},
	})
)

func withEncryption(use func(context.Context, *ClientEncryption, *Collection) error) func(context.Context, *Collection) error {
	return func(ctx context.Context, c *Collection) error { return use(ctx, encryptionOf(c, nil), c) }
}

func encryptionOf(keys *Collection, kms func(context.Context)) *ClientEncryption {
	return &ClientEncryption{crypt: &keyVault{keys: keyRetriever{coll: keys}, kms: kms}, keyVaultClient: keys.client, keyVaultColl: keys}
}

func createEncrypted(ctx context.Context, ce *ClientEncryption, c *Collection) error {
	_, _, err := ce.CreateEncryptedCollection(ctx, c.Database(), "new", encrypted, "local", nil)
	return err
}

func rewrapKeys(ctx context.Context, ce *ClientEncryption, _ *Collection) error {
	return second(ce.RewrapManyDataKey(ctx, anything))
}

var onEncryption = []sendingMethod{
	{name: "ClientEncryption.AddKeyAltName", run: withEncryption(func(ctx context.Context, ce *ClientEncryption, _ *Collection) error {
		return ce.AddKeyAltName(ctx, keyID, "name").Err()
	})},
	{name: "ClientEncryption.Close", replies: []any{scripted.OK()}, silent: true, alone: true, topic: "disconnecting",
		run: withEncryption(func(ctx context.Context, ce *ClientEncryption, c *Collection) error {
			if err := c.client.Ping(ctx, nil); err != nil {
				return err
			}
			return ce.Close(ctx)
		})},
	{name: "ClientEncryption.CreateDataKey", run: withEncryption(func(ctx context.Context, ce *ClientEncryption, _ *Collection) error {
		return second(ce.CreateDataKey(ctx, "local"))
	})},
	// Its data key is rejected. After that it is CreateCollection, which holds a connection.
	{name: "ClientEncryption.CreateEncryptedCollection", run: withEncryption(createEncrypted)},
	{name: "ClientEncryption.Decrypt", run: withEncryption(func(ctx context.Context, ce *ClientEncryption, _ *Collection) error {
		return second(ce.Decrypt(ctx, keyID))
	}), alone: true},
	{name: "ClientEncryption.DeleteKey", run: withEncryption(func(ctx context.Context, ce *ClientEncryption, _ *Collection) error {
		return second(ce.DeleteKey(ctx, keyID))
	})},
	{name: "ClientEncryption.Encrypt", run: withEncryption(func(ctx context.Context, ce *ClientEncryption, _ *Collection) error {
		return second(ce.Encrypt(ctx, bson.RawValue{}, options.Encrypt()))
	}), alone: true},
	{
		name: "ClientEncryption.EncryptExpression",
		run: withEncryption(func(ctx context.Context, ce *ClientEncryption, _ *Collection) error {
			return ce.EncryptExpression(ctx, anything, &bson.Raw{}, options.Encrypt())
		}),
		alone: true,
	},
	{name: "ClientEncryption.GetKey", run: withEncryption(func(ctx context.Context, ce *ClientEncryption, _ *Collection) error {
		return ce.GetKey(ctx, keyID).Err()
	})},
	{
		name: "ClientEncryption.GetKeyByAltName",
		run: withEncryption(func(ctx context.Context, ce *ClientEncryption, _ *Collection) error {
			return ce.GetKeyByAltName(ctx, "name").Err()
		}),
	},
	{name: "ClientEncryption.GetKeys", run: withEncryption(func(ctx context.Context, ce *ClientEncryption, _ *Collection) error {
		return second(ce.GetKeys(ctx))
	})},
	{
		name: "ClientEncryption.RemoveKeyAltName",
		run: withEncryption(func(ctx context.Context, ce *ClientEncryption, _ *Collection) error {
			return ce.RemoveKeyAltName(ctx, keyID, "name").Err()
		}),
	},
	{name: "ClientEncryption.RewrapManyDataKey", run: withEncryption(rewrapKeys), alone: true},
	{name: "ClientEncryption.RewrapManyDataKey", replies: []any{noKeys}, run: withEncryption(rewrapKeys), alone: true},
}

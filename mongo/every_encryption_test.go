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
	driver.Crypt
	keys keyRetriever
	kms  func(context.Context) // if set, is called where a key management service would be asked
}

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

var (
	emptyDocument = bsoncore.NewDocumentBuilder().Build()
	keyID         = bson.Binary{Subtype: 4, Data: make([]byte, 16)}
	dataKey       = bsoncore.NewDocumentBuilder().AppendBinary("_id", keyID.Subtype, keyID.Data).
			AppendBinary("keyMaterial", 0, []byte("key")).AppendDocument("masterKey", emptyDocument).Build()
	noKeys    = scripted.OK(firstBatch(0))
	encrypted = options.CreateCollection().SetEncryptedFields(bson.D{{Key: "fields", Value: bson.A{
		bson.D{{Key: "path", Value: "a"}, {Key: "bsonType", Value: "string"}, {Key: "keyId", Value: nil}},
	}}})
	// noFields are the encrypted fields of a collection that has none.
	noFields = bson.D{{Key: "fields", Value: bson.A{}}}
)

// encryptionOf returns an encryption whose keys are in the collection. A deployment that notes contexts has those of requests to key
// management services, too.
func encryptionOf(keys *Collection) *ClientEncryption {
	vault := &keyVault{keys: keyRetriever{coll: keys}}
	if notes, ok := keys.client.deployment.(interface{ note(context.Context) }); ok {
		vault.kms = notes.note
	}
	return &ClientEncryption{crypt: vault, keyVaultClient: keys.client, keyVaultColl: keys}
}

func createEncrypted(ctx context.Context, c *Collection) error {
	_, _, err := encryptionOf(c).CreateEncryptedCollection(ctx, c.Database(), "new", encrypted, "local", nil)
	return err
}

var onEncryption = []sendingMethod{
	{name: "ClientEncryption.AddKeyAltName", args: []any{keyID, "name"}},
	{name: "ClientEncryption.Close", topic: "disconnecting", replies: []any{scripted.OK()}, run: afterPing(calling("ClientEncryption.Close")),
		silent: true, alone: true},
	{name: "ClientEncryption.CreateDataKey", args: []any{"local"}},
	// Its data key is rejected. After that it is CreateCollection, which holds a connection.
	{name: "ClientEncryption.CreateEncryptedCollection", run: createEncrypted},
	{name: "ClientEncryption.Decrypt", args: []any{keyID}, alone: true},
	{name: "ClientEncryption.DeleteKey", args: []any{keyID}},
	{name: "ClientEncryption.Encrypt", args: []any{bson.RawValue{}, options.Encrypt()}, alone: true},
	{name: "ClientEncryption.EncryptExpression", args: []any{anything, &bson.Raw{}, options.Encrypt()}, alone: true},
	{name: "ClientEncryption.GetKey", args: []any{keyID}},
	{name: "ClientEncryption.GetKeyByAltName", args: []any{"name"}},
	{name: "ClientEncryption.GetKeys"},
	{name: "ClientEncryption.RemoveKeyAltName", args: []any{keyID, "name"}},
	{name: "ClientEncryption.RewrapManyDataKey", args: []any{anything}, alone: true},
	{name: "ClientEncryption.RewrapManyDataKey", replies: []any{noKeys}, args: []any{anything}, alone: true},
}

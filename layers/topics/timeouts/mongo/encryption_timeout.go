package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// A method of ClientEncryption may send several commands, and requests to key management services. The Timeout is for all of them together
// (client-side-operations-timeout.md, "Client Side Encryption").

// The context's deadline or, if it has none, the Timeout of the key vault's client is for the whole call. The fields are also
// returned beside an error.
//
//fork:wrap each of its commands had the client's Timeout anew
func (ce *ClientEncryption) CreateEncryptedCollection(
	ctx context.Context, db *Database, coll string, createOpts options.Lister[options.CreateCollectionOptions],
	kmsProvider string, masterKey any,
) (*Collection, bson.M, error) {
	ctx, cancel := withTimeout(ctx, ce.keyVaultClient.timeout)
	defer cancel()
	return ce.upstreamCreateEncryptedCollection(ctx, db, coll, createOpts, kmsProvider, masterKey)
}

// The context's deadline or, if it has none, the Timeout of the key vault's client is for the whole call.
//
//fork:wrap the client's Timeout did not apply to requests to key management services
func (ce *ClientEncryption) CreateDataKey(
	ctx context.Context, kmsProvider string, opts ...options.Lister[options.DataKeyOptions],
) (bson.Binary, error) {
	ctx, cancel := withTimeout(ctx, ce.keyVaultClient.timeout)
	defer cancel()
	return ce.upstreamCreateDataKey(ctx, kmsProvider, opts...)
}

// The context's deadline or, if it has none, the Timeout of the key vault's client is for the whole call.
//
//fork:wrap the client's Timeout did not apply to requests to key management services
func (ce *ClientEncryption) Encrypt(
	ctx context.Context, val bson.RawValue, opts ...options.Lister[options.EncryptOptions],
) (bson.Binary, error) {
	ctx, cancel := withTimeout(ctx, ce.keyVaultClient.timeout)
	defer cancel()
	return ce.upstreamEncrypt(ctx, val, opts...)
}

// The context's deadline or, if it has none, the Timeout of the key vault's client is for the whole call.
//
//fork:wrap the client's Timeout did not apply to requests to key management services
func (ce *ClientEncryption) EncryptExpression(
	ctx context.Context, expr any, result any, opts ...options.Lister[options.EncryptOptions],
) error {
	ctx, cancel := withTimeout(ctx, ce.keyVaultClient.timeout)
	defer cancel()
	return ce.upstreamEncryptExpression(ctx, expr, result, opts...)
}

// The context's deadline or, if it has none, the Timeout of the key vault's client is for the whole call.
//
//fork:wrap the client's Timeout did not apply to requests to key management services
func (ce *ClientEncryption) Decrypt(ctx context.Context, val bson.Binary) (bson.RawValue, error) {
	ctx, cancel := withTimeout(ctx, ce.keyVaultClient.timeout)
	defer cancel()
	return ce.upstreamDecrypt(ctx, val)
}

// The context's deadline or, if it has none, the Timeout of the key vault's client is for the whole call. After an error, some keys
// may have been rewrapped.
//
//fork:wrap its bulk write had the client's Timeout anew, and requests to key management services had none
func (ce *ClientEncryption) RewrapManyDataKey(
	ctx context.Context, filter any, opts ...options.Lister[options.RewrapManyDataKeyOptions],
) (*RewrapManyDataKeyResult, error) {
	ctx, cancel := withTimeout(ctx, ce.keyVaultClient.timeout)
	defer cancel()
	return ce.upstreamRewrapManyDataKey(ctx, filter, opts...)
}

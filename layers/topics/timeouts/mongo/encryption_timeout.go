package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// A method of ClientEncryption may send several commands, and requests to key management services. The Timeout is for all of them together
// (client-side-operations-timeout.md, "Client Side Encryption").

// CreateEncryptedCollection creates data keys for the encrypted fields that have none, and a collection with these fields. It returns the
// collection, and the fields with the IDs of their keys, which it also returns beside an error.
//
// The context's deadline or, if it has none, the Timeout of the key vault's client is for the whole call.
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

// CreateDataKey creates a data key, inserts it into the key vault's collection, and returns its ID, a UUID.
//
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

// Encrypt encrypts a BSON value with the key and the algorithm of the options. The result has the subtype 6.
//
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

// EncryptExpression encrypts an expression that queries a range index, and decodes the result into result. It is only for the query type
// "range", and the expression has one of two forms, in which $gte and $lte may stand for $gt and $lt:
//
//	{$and: [{FIELD: {$gt: VALUE}}, {FIELD: {$lt: VALUE}}]}
//	{$and: [{$gt: [FIELDPATH, VALUE]}, {$lt: [FIELDPATH, VALUE]}]}
//
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

// Decrypt decrypts an encrypted value, of the subtype 6.
//
// The context's deadline or, if it has none, the Timeout of the key vault's client is for the whole call.
//
//fork:wrap the client's Timeout did not apply to requests to key management services
func (ce *ClientEncryption) Decrypt(ctx context.Context, val bson.Binary) (bson.RawValue, error) {
	ctx, cancel := withTimeout(ctx, ce.keyVaultClient.timeout)
	defer cancel()
	return ce.upstreamDecrypt(ctx, val)
}

// RewrapManyDataKey decrypts all data keys that match the filter, and encrypts them again, with another master key if the options have
// one. It overwrites their masterKey, updateDate and keyMaterial. After an error, some of them may have been rewrapped.
//
// The context's deadline or, if it has none, the Timeout of the key vault's client is for the whole call. It needs libmongocrypt 1.5.2.
//
//fork:wrap its bulk write had the client's Timeout anew, and requests to key management services had none
func (ce *ClientEncryption) RewrapManyDataKey(
	ctx context.Context, filter any, opts ...options.Lister[options.RewrapManyDataKeyOptions],
) (*RewrapManyDataKeyResult, error) {
	ctx, cancel := withTimeout(ctx, ce.keyVaultClient.timeout)
	defer cancel()
	return ce.upstreamRewrapManyDataKey(ctx, filter, opts...)
}

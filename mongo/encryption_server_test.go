//go:build cse

package mongo_test

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// These tests encrypt with libmongocrypt and a local key, and need a real server with test commands, which MONGODB_URI names: "make
// test-cse" builds the one and starts the other. Rejections are made by fail points, which know a client by its appName.
const (
	application    = "application" // and the client that it makes for itself to read the options of collections
	vault          = "vault"
	dataDatabase   = "overloadData"
	vaultNamespace = "overloadVault.keys"
	secret         = "a secret"
)

// encryption is an application whose keys another client reads. Nothing is cached yet.
type encryption struct {
	*mongo.ClientEncryption
	data *mongo.Collection
	sent *sentCommands
}

// newEncryption connects both.
func newEncryption(t *testing.T, opts *options.ClientOptions) encryption {
	t.Helper()
	sent := &sentCommands{counts: map[string]int{}}
	providers := map[string]map[string]any{"local": {"key": make([]byte, 96)}}

	keys := connected(t, sent.by(vault, options.Client()))
	app := connected(t, sent.by(application, opts).SetAutoEncryptionOptions(options.AutoEncryption().SetKmsProviders(providers).
		SetKeyVaultNamespace(vaultNamespace).
		SetKeyVaultClientOptions(sent.by(vault, options.Client())).
		SetEncryptedFieldsMap(map[string]any{dataDatabase + ".other": bson.D{}}). // so that Drop asks the server for fields
		SetBypassQueryAnalysis(true)))                                            // which MongoDB Enterprise has
	ce, err := mongo.NewClientEncryption(keys, options.ClientEncryption().SetKmsProviders(providers).SetKeyVaultNamespace(vaultNamespace))
	require.NoError(t, err)
	return encryption{ClientEncryption: ce, data: app.Database(dataDatabase).Collection("data"), sent: sent}
}

func connected(t *testing.T, opts *options.ClientOptions) *mongo.Client {
	t.Helper()
	client, err := mongo.Connect(opts)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	return client
}

// sentCommands counts the commands that each client has sent.
type sentCommands struct {
	mu     sync.Mutex
	counts map[string]int
}

// by completes the options of a client.
func (s *sentCommands) by(client string, opts *options.ClientOptions) *options.ClientOptions {
	return opts.ApplyURI(os.Getenv("MONGODB_URI")).SetAppName(client).SetMonitor(&event.CommandMonitor{
		Started: func(_ context.Context, e *event.CommandStartedEvent) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.counts[client+" "+e.CommandName]++
		},
	})
}

func (s *sentCommands) all() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

// realServer rejects commands, and starts without data.
type realServer struct{ *mongo.Client }

func openRealServer(t *testing.T) (context.Context, realServer) {
	t.Helper()
	if testing.Short() {
		t.Skip("it needs a server with fail points")
	}
	uri := os.Getenv("MONGODB_URI")
	require.NotEqual(t, "", uri, "MONGODB_URI names no server; use make test-cse")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)

	s := realServer{connected(t, options.Client().ApplyURI(uri))}
	for _, database := range []string{dataDatabase, "overloadVault"} {
		require.NoError(t, s.Database(database).Drop(ctx))
	}
	return ctx, s
}

// reject makes the server reject the client's commands of that name, and at the end of the test none.
func (s realServer) reject(ctx context.Context, t *testing.T, client, command string, mode any) {
	t.Helper()
	s.disturb(ctx, t, client, command, mode, bson.E{Key: "errorCode", Value: 462},
		bson.E{Key: "errorLabels", Value: bson.A{"SystemOverloadedError", "RetryableError", "NoWritesPerformed"}})
}

// disturb makes the server do something else with the client's commands of that name, and at the end of the test nothing.
func (s realServer) disturb(ctx context.Context, t *testing.T, client, command string, mode any, how ...bson.E) {
	t.Helper()
	set := func(command bson.D) error { return s.Database("admin").RunCommand(ctx, command).Err() }
	failCommand := bson.E{Key: "configureFailPoint", Value: "failCommand"}
	data := append(bson.D{{Key: "failCommands", Value: bson.A{command}}, {Key: "appName", Value: client}}, how...)
	require.NoError(t, set(bson.D{failCommand, {Key: "mode", Value: mode}, {Key: "data", Value: data}}))
	t.Cleanup(func() { assert.NoError(t, set(bson.D{failCommand, {Key: "mode", Value: "off"}})) })
}

var twice = bson.D{{Key: "times", Value: 2}}

// TestEncryptionInOverload is a day in the life of a key: each command that it takes is rejected twice, and sent a third time.
func TestEncryptionInOverload(t *testing.T) {
	ctx, server := openRealServer(t)
	var key, encrypted bson.Binary
	find := func(t *testing.T, e encryption) error {
		var found struct{ Secret string }
		err := e.data.FindOne(ctx, bson.D{{Key: "_id", Value: 1}}).Decode(&found)
		assert.Equal(t, secret, found.Secret)
		return err
	}
	rewrapped := func(t *testing.T, e encryption) error {
		result, err := e.RewrapManyDataKey(ctx, bson.D{})
		if err == nil {
			assert.Equal(t, int64(1), result.ModifiedCount)
		}
		return err
	}
	for _, step := range []struct {
		name, client, command string
		run                   func(*testing.T, encryption) error
		sent                  map[string]int
	}{
		{"CreateDataKey", vault, "insert", func(_ *testing.T, e encryption) (err error) {
			key, err = e.CreateDataKey(ctx, "local")
			return err
		}, map[string]int{"vault insert": 3}},
		{"Encrypt", vault, "find", func(_ *testing.T, e encryption) (err error) {
			encrypted, err = e.encrypted(ctx, key)
			return err
		}, map[string]int{"vault find": 3}},
		{"InsertOne", application, "insert", func(_ *testing.T, e encryption) error {
			return e.insert(ctx, encrypted)
		}, map[string]int{"application insert": 3, "application listCollections": 1}},
		{"FindOne", application, "find", find, map[string]int{"application find": 3, "application listCollections": 1, "vault find": 1}},
		{"FindOne, with an overloaded key vault", vault, "find", find,
			map[string]int{"application find": 1, "application listCollections": 1, "vault find": 3}},
		{"RewrapManyDataKey, reading", vault, "find", rewrapped, map[string]int{"vault find": 3, "vault update": 1}},
		{"RewrapManyDataKey, writing", vault, "update", rewrapped, map[string]int{"vault find": 1, "vault update": 3}},
		{"FindOne, by the new key", application, "listCollections", find,
			map[string]int{"application find": 1, "application listCollections": 3, "vault find": 1}},
	} {
		t.Run(step.name, func(t *testing.T) {
			e := newEncryption(t, options.Client())
			server.reject(ctx, t, step.client, step.command, twice)
			require.NoError(t, step.run(t, e))
			assert.Equal(t, step.sent, e.sent.all())
		})
	}

	var stored struct{ Secret bson.Binary }
	require.NoError(t, server.Database(dataDatabase).Collection("data").FindOne(ctx, bson.D{}).Decode(&stored))
	assert.Equal(t, byte(6), stored.Secret.Subtype, "what other clients see is encrypted")
}

// encrypted encrypts the secret.
func (e encryption) encrypted(ctx context.Context, key bson.Binary) (bson.Binary, error) {
	_, value, err := bson.MarshalValue(secret)
	if err != nil {
		return bson.Binary{}, err
	}
	return e.Encrypt(ctx, bson.RawValue{Type: bson.TypeString, Value: value}, options.Encrypt().
		SetKeyID(key).SetAlgorithm("AEAD_AES_256_CBC_HMAC_SHA_512-Random"))
}

func (e encryption) insert(ctx context.Context, encrypted bson.Binary) error {
	_, err := e.data.InsertOne(ctx, bson.D{{Key: "_id", Value: 1}, {Key: "secret", Value: encrypted}})
	return err
}

// insertSecret inserts a document with an encrypted field.
func (e encryption) insertSecret(ctx context.Context, t *testing.T) {
	t.Helper()
	key, err := e.CreateDataKey(ctx, "local")
	require.NoError(t, err)
	encrypted, err := e.encrypted(ctx, key)
	require.NoError(t, err)
	require.NoError(t, e.insert(ctx, encrypted))
}

// TestKeyVaultThatRejectsEverything is about a command that the server has executed: it is not sent again because its reply cannot
// be decrypted. The key vault's limit of retries is that of any command.
func TestKeyVaultThatRejectsEverything(t *testing.T) {
	ctx, server := openRealServer(t)
	e := newEncryption(t, options.Client())
	e.insertSecret(ctx, t)

	server.reject(ctx, t, vault, "find", "alwaysOn")
	plain := &sentCommands{counts: map[string]int{}}
	require.Error(t, connected(t, plain.by(vault, options.Client())).Database("any").Collection("any").FindOne(ctx, bson.D{}).Err())

	e = newEncryption(t, options.Client())
	_, err := e.data.FindOne(ctx, bson.D{}).Raw()
	var labeled mongo.LabeledError
	require.True(t, errors.As(err, &labeled), "%v", err)
	assert.True(t, labeled.HasErrorLabel("SystemOverloadedError"), "%v", err)
	assert.Equal(t, map[string]int{
		"application find": 1, "application listCollections": 1, "vault find": plain.all()["vault find"],
	}, e.sent.all())
}

// TestOptionsOfCollectionInfo: what a command has to know of its collection is read by a command of its own, to which retryReads
// applies, whatever the command is: inside of it by libmongocrypt, or by Drop, before it. Either is kept for the command's retries.
func TestOptionsOfCollectionInfo(t *testing.T) {
	ctx, server := openRealServer(t)
	create := func(e encryption) error { return e.data.Database().CreateCollection(ctx, "new") }
	drop := func(e encryption) error { return e.data.Drop(ctx) }
	insert := func(e encryption) error {
		_, err := e.data.InsertOne(ctx, bson.D{})
		return err
	}
	for _, c := range []struct {
		name        string
		run         func(encryption) error
		rejected    string
		retried     string // the one option that is on
		command     string
		sent, infos int
		fails       bool
	}{
		{"create reads none", create, "create", "writes", "create", 3, 0, false},
		{"drop", drop, "drop", "writes", "drop", 3, 1, false},
		{"drop, not retried", drop, "drop", "reads", "drop", 1, 1, true},
		{"info of drop", drop, "listCollections", "reads", "drop", 1, 3, false},
		{"info of drop, not retried", drop, "listCollections", "writes", "drop", 0, 1, true},
		{"insert", insert, "insert", "writes", "insert", 3, 1, false},
		{"info of insert", insert, "listCollections", "reads", "insert", 1, 3, false},
		{"info of insert, not retried", insert, "listCollections", "writes", "insert", 0, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEncryption(t, options.Client().SetRetryReads(c.retried == "reads").SetRetryWrites(c.retried == "writes"))
			server.reject(ctx, t, application, c.rejected, twice)
			err := c.run(e)
			assert.Equal(t, c.fails, err != nil, "%v", err)
			sent := e.sent.all()
			assert.Equal(t, c.sent, sent["application "+c.command], "%s", c.command)
			assert.Equal(t, c.infos, sent["application listCollections"], "listCollections")
		})
	}
}

// TestEncryptionReadsSchemasAndKeysInTime is about servers that take ten seconds to tell what is encrypted, or by which key: the call ends
// with the context's deadline, or the client's Timeout (client-side-operations-timeout.md, "Client Side Encryption").
func TestEncryptionReadsSchemasAndKeysInTime(t *testing.T) {
	ctx, server := openRealServer(t)
	e := newEncryption(t, options.Client())
	e.insertSecret(ctx, t)

	const blocked, limit = 10 * time.Second, 500 * time.Millisecond
	for _, one := range []struct{ client, command string }{{application, "listCollections"}, {vault, "find"}} {
		for _, byClient := range []bool{false, true} {
			opts, until := options.Client(), context.Background() // without a deadline, which would replace Timeout
			if byClient {
				opts.SetTimeout(limit)
			}
			e := newEncryption(t, opts)
			server.disturb(ctx, t, one.client, one.command, bson.D{{Key: "times", Value: 1}},
				bson.E{Key: "blockConnection", Value: true}, bson.E{Key: "blockTimeMS", Value: blocked.Milliseconds()})
			if !byClient {
				var cancel context.CancelFunc
				until, cancel = context.WithTimeout(until, limit)
				defer cancel()
			}
			start := time.Now()
			_, err := e.data.FindOne(until, bson.D{}).Raw()
			assert.True(t, mongo.IsTimeout(err), "%s %s, %v: %v", one.client, one.command, byClient, err)
			assert.Less(t, time.Since(start), blocked/2, "%s %s, %v", one.client, one.command, byClient)
			assert.Equal(t, 1, e.sent.all()[one.client+" "+one.command])
		}
	}
}

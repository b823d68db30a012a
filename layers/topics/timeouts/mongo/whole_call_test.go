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
)

func init() { topics["timeouts"] = true }

// TestOneTimeoutForTheWholeCall is about methods that send several commands, or ask key management services: all have the same deadline
// (client-side-operations-timeout.md, "Background" and "Client Side Encryption").
func TestOneTimeoutForTheWholeCall(t *testing.T) {
	for name, tt := range map[string]struct {
		waits int // how many commands and requests
		run   func(context.Context, *Collection) error
	}{
		"Drop": {3, calling("Collection.Drop", options.DropCollection().SetEncryptedFields(noFields))},
		"Drop, known by the server": {2, func(ctx context.Context, c *Collection) error {
			c.client.encryptedFieldsMap = map[string]any{}
			return c.Drop(ctx)
		}},
		"CreateCollection, encrypted": {5, calling("Database.CreateCollection", "coll",
			options.CreateCollection().SetEncryptedFields(noFields))},
		"CreateDataKey":             {2, calling("ClientEncryption.CreateDataKey", "local")},
		"CreateEncryptedCollection": {7, createEncrypted},
		"Decrypt":                   {2, calling("ClientEncryption.Decrypt", keyID)},
		"Encrypt":                   {2, calling("ClientEncryption.Encrypt", bson.RawValue{}, options.Encrypt())},
		"EncryptExpression":         {2, calling("ClientEncryption.EncryptExpression", anything, &bson.Raw{}, options.Encrypt())},
		"RewrapManyDataKey":         {3, calling("ClientEncryption.RewrapManyDataKey", anything)},
	} {
		for _, ctx := range []context.Context{bgCtx, nil} {
			d, coll := newDeadlines(t)
			require.NoError(t, tt.run(ctx, coll), name)
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
		_ = method.run(bgCtx, coll)
		require.NotEmpty(t, d.seen, method.name)
		for i, deadline := range d.seen {
			assert.False(t, deadline.IsZero(), "%s: wait %d of %d", method.name, i, len(d.seen))
		}
	}
}

// TestOneMaxTime is about each method that takes fields of a command from the application, under each limit of a call: a maxTimeMS among
// them is sent, and no other. Servers reject a command with two.
func TestOneMaxTime(t *testing.T) {
	const own = int32(7)
	runs := func(command string) bson.D { return bson.D{{Key: command, Value: 1}, {Key: "maxTimeMS", Value: own}} }
	custom, writes := bson.M{"maxTimeMS": own}, Pipeline{{{Key: "$out", Value: "other"}}}
	methods := map[string]func(context.Context, *Collection) error{
		"RunCommand":                     calling("Database.RunCommand", runs("ping")),
		"RunCommandCursor":               calling("Database.RunCommandCursor", runs("find")),
		"Aggregate":                      calling("Collection.Aggregate", Pipeline{}, options.Aggregate().SetCustom(custom)),
		"Aggregate that writes":          calling("Collection.Aggregate", writes, options.Aggregate().SetCustom(custom)),
		"Database.Aggregate that writes": calling("Database.Aggregate", writes, options.Aggregate().SetCustom(custom)),
		"Watch":                          calling("Collection.Watch", Pipeline{}, options.ChangeStream().SetCustom(custom)),
	}
	limits := map[string]struct {
		options  *options.ClientOptions
		deadline bool
		within   func(*Client, func(context.Context) error) error
	}{
		"none":                       {options.Client(), false, inBackground},
		"Timeout":                    {options.Client().SetTimeout(time.Hour), false, inBackground},
		"deadline":                   {options.Client(), true, inBackground},
		"deadline, in a session":     {options.Client(), true, inSession(t, func(*Session) error { return nil })},
		"deadline, in a transaction": {options.Client(), true, inSession(t, func(s *Session) error { return s.StartTransaction() })},
	}
	for method, run := range methods {
		for limit, tt := range limits {
			s := lasting(t, emptyOpen)
			client := connectScript(t, s, tt.options)
			coll := client.Database("db").Collection("coll")
			require.NoError(t, tt.within(client, func(ctx context.Context) error {
				if tt.deadline {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, time.Hour)
					defer cancel()
				}
				return run(ctx, coll)
			}))
			values := valuesOf(t, s.Sent[0].Command, "maxTimeMS")
			require.Len(t, values, 1, "%s, %s", method, limit)
			assert.Equal(t, own, values[0].Int32(), "%s, %s", method, limit)
		}
	}
}

// TestMaxTimeOfADeadline is about an aggregate with $out and a RunCommand without a maxTimeMS: the server is told their deadline.
func TestMaxTimeOfADeadline(t *testing.T) {
	s := lasting(t, scripted.OK(firstBatch(0)))
	ctx, cancel := context.WithTimeout(bgCtx, time.Hour)
	defer cancel()
	require.NoError(t, second(scriptColl(t, s).Aggregate(ctx, Pipeline{{{Key: "$out", Value: "other"}}})))
	require.NoError(t, scriptColl(t, s).Database().RunCommand(ctx, anything).Err())
	assert.NotContains(t, s.Field("maxTimeMS"), nil)
}

// The three replies of a server that has run out of maxTimeMS, in the order of the specification's examples.
var maxTimeReplies = map[string]bson.D{
	"ok: 0":             scripted.Failure(50),
	"writeErrors":       scripted.OK(bson.E{Key: "n", Value: 0}, maxTimeWriteErrors, oneResult, madeIndex),
	"writeConcernError": scripted.OK(bson.E{Key: "n", Value: 1}, concernError(50), oneResult, madeIndex),
}

var maxTimeWriteErrors = bson.E{Key: "writeErrors", Value: bson.A{bson.D{
	{Key: "index", Value: 0}, {Key: "code", Value: 50}, {Key: "errmsg", Value: "scripted"},
}}}

// TestIsTimeoutAfterMaxTime lets the server run out of maxTimeMS in each method: whatever type the method's error is of, it is a timeout
// (client-side-operations-timeout.md, "Error Transformations").
func TestIsTimeoutAfterMaxTime(t *testing.T) {
	failed := map[string]int{}
	for _, method := range sendingMethods() {
		for in, reply := range maxTimeReplies {
			s := lasting(t, reply, method.replies...)
			err := method.run(bgCtx, scriptColl(t, s))
			if err == nil {
				assert.False(t, in == "ok: 0" && !method.silent, "%s: no error", method.name)
				continue
			}
			failed[in]++
			assert.True(t, IsTimeout(err), "%s, %s: %T: %v", method.name, in, err, err)
		}
	}
	assert.Greater(t, failed["ok: 0"], 60)
	assert.Greater(t, failed["writeErrors"], 40)
	assert.Greater(t, failed["writeConcernError"], 40)
}

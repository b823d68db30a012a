package mongo

import (
	"context"
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

var errNoServer = errors.New("no server is suitable")

// What tests write.
var (
	anything  = bson.D{}
	increment = bson.D{{Key: "$inc", Value: bson.D{{Key: "x", Value: 1}}}}
)

// lasting returns a script of servers that answer by rest after the replies.
func lasting(t *testing.T, rest any, replies ...any) *scripted.Script {
	s := scripted.New(t, replies...)
	s.Rest = rest
	return s
}

// connectScript returns a client whose deployment is the script.
func connectScript(t *testing.T, s *scripted.Script, opts ...*options.ClientOptions) *Client {
	t.Helper()
	deployment := options.Client()
	deployment.Deployment = s
	client, err := Connect(append(opts, deployment)...)
	require.NoError(t, err)
	return client
}

// scriptColl returns a collection of such a client.
func scriptColl(t *testing.T, s *scripted.Script, opts ...*options.ClientOptions) *Collection {
	t.Helper()
	return connectScript(t, s, opts...).Database("db").Collection("coll")
}

// must returns a function that returns the result of a call, and ends the test if that is an error.
func must[T any](result T, err error) func(t testing.TB, msgAndArgs ...any) T {
	return func(t testing.TB, msgAndArgs ...any) T {
		t.Helper()
		require.NoError(t, err, msgAndArgs...)
		return result
	}
}

// second returns the error of a call.
func second[T any](_ T, err error) error { return err }

// endsInBackoff returns a context that ends with the error during the first backoff.
func endsInBackoff(s *scripted.Script, err error) *scripted.Context {
	ctx := scripted.NewContext()
	s.OnSleep = func() { ctx.End(err) }
	return ctx
}

// commandNames returns the names of the commands that came to the servers.
func commandNames(s *scripted.Script) (names []string) {
	for _, sent := range s.Sent {
		names = append(names, sent.Command.Index(0).Key())
	}
	return names
}

// firstBatch is what the reply to a command that opens a cursor says of it, and nextBatch what the reply to a getMore says.
func firstBatch(id int64, docs ...any) bson.E { return cursorOf(id, "firstBatch", docs) }
func nextBatch(id int64, docs ...any) bson.E  { return cursorOf(id, "nextBatch", docs) }

func cursorOf(id int64, batch string, docs []any) bson.E {
	return bson.E{Key: "cursor", Value: bson.D{
		{Key: "id", Value: id}, {Key: "ns", Value: "db.coll"}, {Key: batch, Value: append(bson.A{}, docs...)},
	}}
}

func insertAny(ctx context.Context, coll *Collection) error {
	_, err := coll.InsertOne(ctx, bson.D{})
	return err
}

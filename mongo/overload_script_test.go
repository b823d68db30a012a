package mongo

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
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

// newLoadBalancedScript returns a script for a service behind a load balancer.
func newLoadBalancedScript(t *testing.T, replies ...any) *scripted.Script {
	s := scripted.New(t, replies...)
	service := bson.NewObjectID()
	s.Topology, s.Servers[0] = description.TopologyKindLoadBalanced, scripted.Server("lb", description.ServerKindLoadBalancer)
	s.Servers[0].ServiceID = &service
	return s
}

// newShardedScript returns a script for a cluster of three routers.
func newShardedScript(t *testing.T, replies ...any) *scripted.Script {
	s := scripted.New(t, replies...)
	s.Topology, s.Servers = description.TopologyKindSharded, nil
	for _, host := range []string{"a", "b", "c"} {
		s.Servers = append(s.Servers, scripted.Server(host, description.ServerKindMongos))
	}
	return s
}

// transact runs an insert, and then something, by WithTransaction. It returns how often that calls its callback.
func transact(
	ctx context.Context, t *testing.T, s *scripted.Script, then func(context.Context, *Collection) error, opts ...*options.ClientOptions,
) (calls int, err error) {
	t.Helper()
	coll := scriptColl(t, s, opts...)
	session := must(coll.client.StartSession())(t)
	_, err = session.WithTransaction(ctx, func(ctx context.Context) (any, error) {
		calls++
		if err := insertAny(ctx, coll); err != nil {
			return nil, err
		}
		return nil, then(ctx, coll)
	})
	if err == nil {
		session.EndSession(bgCtx) // which gives a pinned connection back
	}
	return calls, err
}

func nothing(context.Context, *Collection) error { return nil }

// insertInTransaction runs a transaction of one insert, and returns how often its callback was called.
func insertInTransaction(ctx context.Context, t *testing.T, s *scripted.Script, opts ...*options.ClientOptions) (int, error) {
	t.Helper()
	calls, err := transact(ctx, t, s, nothing, opts...)
	s.Finish()
	return calls, err
}

// inTransaction runs the function in a transaction that it leaves open, and then ends the session.
func inTransaction(t *testing.T, s *scripted.Script, run func(context.Context, *Session, *Collection), opts ...*options.ClientOptions) {
	t.Helper()
	client := connectScript(t, s, opts...)
	session := must(client.StartSession())(t)
	require.NoError(t, session.StartTransaction())
	run(NewSessionContext(bgCtx, session), session, client.Database("db").Collection("coll"))
	session.EndSession(bgCtx)
	s.Finish()
}

// concernError is what a reply says of a write concern.
func concernError(code int) bson.E {
	return bson.E{Key: "writeConcernError", Value: bson.D{{Key: "code", Value: code}, {Key: "codeName", Value: "Concern"},
		{Key: "errmsg", Value: "scripted"}}}
}

// inserts are n writes.
func inserts(n int) []ClientBulkWrite {
	writes := make([]ClientBulkWrite, n)
	for i := range writes {
		writes[i] = ClientBulkWrite{Database: "db", Collection: "a", Model: bulkWriteModels["insert"]}
	}
	return writes
}

// deadlines is a deployment that notes the deadline of each command, and of each request to a key management service.
type deadlines struct {
	*scripted.Script
	seen []time.Time
}

func (d *deadlines) note(ctx context.Context) {
	deadline, _ := ctx.Deadline()
	d.seen = append(d.seen, deadline)
}

func (d *deadlines) SelectServer(ctx context.Context, selector description.ServerSelector) (driver.Server, error) {
	d.note(ctx)
	return d.Script.SelectServer(ctx, selector)
}

// newDeadlines returns a collection of a client with a Timeout of an hour.
func newDeadlines(t *testing.T) (*deadlines, *Collection) {
	t.Helper()
	d := &deadlines{Script: scripted.New(t)}
	d.Rest = scripted.OK(firstBatch(0), bson.E{Key: "value", Value: bson.D{}})
	opts := options.Client().SetTimeout(time.Hour)
	opts.Deployment = d
	client := must(Connect(opts))(t)
	return d, client.Database("db").Collection("coll")
}

// writeErrorsAt is what a reply says of writes that were made before.
func writeErrorsAt(indexes ...any) bson.E {
	errs := bson.A{}
	for _, index := range indexes {
		errs = append(errs, bson.D{{Key: "index", Value: index}, {Key: "code", Value: 11000}, {Key: "errmsg", Value: "scripted"}})
	}
	return bson.E{Key: "writeErrors", Value: errs}
}

// bulkWriteModels are of all kinds that results are read differently for.
var bulkWriteModels = map[string]ClientWriteModel{
	"insert": NewClientInsertOneModel().SetDocument(bson.D{{Key: "_id", Value: "new"}}),
	"update": NewClientUpdateOneModel().SetFilter(anything).SetUpdate(increment).SetUpsert(true),
	"delete": NewClientDeleteOneModel().SetFilter(anything),
}

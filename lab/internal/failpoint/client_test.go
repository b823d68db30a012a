package failpoint

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/fronttest"
	"mongofork/lab/internal/proxy"
)

// router answers as a mongos that does nothing, and keeps the names of the commands that clients sent for a purpose.
type router struct {
	mu       sync.Mutex
	commands []string
}

func (r *router) Handle(_ context.Context, req *proxy.Request, reply proxy.ReplyFunc, _ proxy.Next) error {
	doc := bson.D{{Key: "ok", Value: 1}, {Key: "n", Value: 1}}
	switch req.Command {
	case "hello", "isMaster", "ismaster":
		doc = append(doc,
			bson.E{Key: "isWritablePrimary", Value: true}, bson.E{Key: "msg", Value: "isdbgrid"}, bson.E{Key: "helloOk", Value: true},
			bson.E{Key: "maxWireVersion", Value: 27}, bson.E{Key: "minWireVersion", Value: 0},
			bson.E{Key: "maxBsonObjectSize", Value: 16 << 20}, bson.E{Key: "maxMessageSizeBytes", Value: 48_000_000},
			bson.E{Key: "maxWriteBatchSize", Value: 100_000}, bson.E{Key: "logicalSessionTimeoutMinutes", Value: 30})
	case "endSessions":
	default:
		r.mu.Lock()
		r.commands = append(r.commands, req.Command)
		r.mu.Unlock()
	}
	raw, err := bson.Marshal(doc)
	if err != nil {
		return err
	}
	return reply(req.Answer(raw))
}

func (r *router) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.commands
	r.commands = nil
	return taken
}

// connect returns a client of a front with fail points.
func connect(t *testing.T) (*mongo.Client, *router) {
	t.Helper()
	failPoints, err := New(Config{Random: rand.Float64, Wait: clock.System{}.Wait})
	require.NoError(t, err)
	behind := &router{}
	address := fronttest.Serve(t, proxy.Config{Handlers: []proxy.Handler{failPoints, behind}})
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + address + "/?appName=tested"))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, client.Disconnect(context.Background())) })
	return client, behind
}

func configure(t *testing.T, client *mongo.Client, name string, times int, data bson.D) {
	t.Helper()
	command := bson.D{
		{Key: "configureFailPoint", Value: name},
		{Key: "mode", Value: bson.D{{Key: "times", Value: times}}},
		{Key: "data", Value: data},
	}
	require.NoError(t, client.Database("admin").RunCommand(t.Context(), command).Err())
}

func TestClientMeetsFailPoints(t *testing.T) {
	client, behind := connect(t)
	collection := client.Database("d").Collection("c")
	insert := func() error {
		_, err := collection.InsertOne(t.Context(), bson.D{{Key: "_id", Value: 1}})
		return err
	}
	inserts := bson.E{Key: "failCommands", Value: bson.A{"insert"}}

	t.Run("retryable write", func(t *testing.T) {
		configure(t, client, failCommandName, 1, bson.D{inserts, {Key: "errorCode", Value: 91}, {Key: "appName", Value: "tested"}})
		require.NoError(t, insert())
		assert.Equal(t, []string{"insert"}, behind.take(), "the first attempt does not get through")
	})
	t.Run("overload", func(t *testing.T) {
		configure(t, client, failCommandName, 2, bson.D{inserts, {Key: "errorCode", Value: 462},
			{Key: "errorLabels", Value: bson.A{"SystemOverloadedError", "RetryableError"}}})
		require.NoError(t, insert())
		assert.Equal(t, []string{"insert"}, behind.take())
	})
	t.Run("no label", func(t *testing.T) {
		configure(t, client, failCommandName, 1, bson.D{inserts, {Key: "errorCode", Value: 462}, {Key: "errorLabels", Value: bson.A{}}})
		failure := mongo.CommandError{}
		require.ErrorAs(t, insert(), &failure)
		assert.Equal(t, int32(462), failure.Code)
		assert.Equal(t, "IngressRequestRateLimitExceeded", failure.Name)
		assert.Empty(t, failure.Labels)
		assert.Empty(t, behind.take())
	})
	t.Run("write concern", func(t *testing.T) {
		configure(t, client, failCommandName, 1, bson.D{inserts, {Key: "writeConcernError",
			Value: bson.D{{Key: "code", Value: 64}, {Key: "errmsg", Value: "late"}}}})
		failure := mongo.WriteException{}
		require.ErrorAs(t, insert(), &failure)
		require.NotNil(t, failure.WriteConcernError)
		assert.Equal(t, 64, failure.WriteConcernError.Code)
		assert.Equal(t, []string{"insert"}, behind.take())
	})
	t.Run("lost reply", func(t *testing.T) {
		configure(t, client, transactionalWriteName, 1, bson.D{})
		require.NoError(t, insert())
		assert.Equal(t, []string{"insert", "insert"}, behind.take(), "the write, and the retry that finds it done")
	})
	t.Run("timeout", func(t *testing.T) {
		configure(t, client, failCommandName, 1, bson.D{inserts, {Key: "blockConnection", Value: true}, {Key: "blockTimeMS", Value: 60_000}})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := collection.InsertOne(ctx, bson.D{})
		assert.True(t, errors.Is(err, context.DeadlineExceeded) || mongo.IsTimeout(err), "%v", err)
		assert.Empty(t, behind.take())
	})
	t.Run("the backend's", func(t *testing.T) {
		_ = client.Database("admin").RunCommand(t.Context(), bson.D{{Key: "configureFailPoint", Value: "other"}, {Key: "mode", Value: "off"}}).Err()
		assert.Equal(t, []string{"configureFailPoint"}, behind.take())
	})
}

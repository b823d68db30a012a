package fronts

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.uber.org/goleak"

	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/servererror"
	"mongofork/lab/internal/topology"
)

const patience = 10 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startBackend serves, until the test ends, what answers every command in the same way every time.
func startBackend(t testing.TB) string {
	t.Helper()
	answers := map[string]bson.D{
		"hello": {
			{Key: "isWritablePrimary", Value: true}, {Key: "setName", Value: "backend"},
			{Key: "hosts", Value: bson.A{"real:1"}}, {Key: "me", Value: "real:1"}, {Key: "maxWireVersion", Value: 25},
			{Key: "minWireVersion", Value: 0},
			{Key: "maxBsonObjectSize", Value: 16 << 20}, {Key: "maxMessageSizeBytes", Value: 48_000_000},
			{Key: "maxWriteBatchSize", Value: 100_000}, {Key: "logicalSessionTimeoutMinutes", Value: 30},
		},
		"insert": {{Key: "n", Value: 1}},
		"find": {{Key: "cursor", Value: bson.D{
			{Key: "firstBatch", Value: bson.A{bson.D{{Key: "_id", Value: 1}}}}, {Key: "id", Value: int64(0)},
			{Key: "ns", Value: "db.c"},
		}}},
	}
	server := proxy.New(proxy.Config{Answer: func(_ context.Context, req *proxy.Request) (bson.Raw, error) {
		command := req.Command
		if proxy.IsHello(command) {
			command = "hello"
		}
		return servererror.OK(slices.Clone(answers[command])...), nil
	}})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	return listener.Addr().String()
}

// startLab runs a lab until the test ends.
func startLab(t testing.TB, text string, config Config) *Lab {
	t.Helper()
	spec, err := topology.ParseSpec(text)
	require.NoError(t, err)
	config.Topology = spec
	if config.Backend == "" {
		config.Backend = startBackend(t)
	}
	l, err := Open(config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			require.NoError(t, err)
		case <-time.After(patience):
			require.Fail(t, "the lab does not end")
		}
	})
	return l
}

// journal is what a client did, and what it knows.
type journal struct {
	mu       sync.Mutex
	commands []*event.CommandStartedEvent
	known    []event.ServerDescription
}

// named returns the commands of that name.
func (j *journal) named(name string) []*event.CommandStartedEvent {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(j.commands), func(e *event.CommandStartedEvent) bool { return e.CommandName != name })
}

// kinds returns each server's kind by its address.
func (j *journal) kinds() map[string]string {
	j.mu.Lock()
	defer j.mu.Unlock()
	kinds := map[string]string{}
	for _, server := range j.known {
		kinds[server.Addr.String()] = server.Kind
	}
	return kinds
}

// connect returns a client of a connection string, and what it does.
func connect(t testing.TB, uri string, more ...*options.ClientOptions) (*mongo.Client, *journal) {
	t.Helper()
	j := &journal{}
	// On a busy machine the driver sometimes misses what the first hello said, or that a client is gone, until the next heartbeat.
	opts := options.Client().ApplyURI(uri).SetServerSelectionTimeout(patience).SetHeartbeatInterval(500 * time.Millisecond)
	opts.SetMonitor(&event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.commands = append(j.commands, e)
	}})
	opts.SetServerMonitor(&event.ServerMonitor{TopologyDescriptionChanged: func(e *event.TopologyDescriptionChangedEvent) {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.known = e.NewDescription.Servers
	}})
	client, err := mongo.Connect(append([]*options.ClientOptions{opts}, more...)...)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, client.Disconnect(ctx))
	})
	return client, j
}

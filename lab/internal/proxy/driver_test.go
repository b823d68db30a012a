package proxy_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/answer"
	"mongofork/lab/internal/fronttest"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

// server answers all commands itself, and keeps how the pings came.
type server struct {
	compressor string

	mu    sync.Mutex
	pings []wire.Compression
}

func (s *server) Handle(_ context.Context, req *proxy.Request, reply proxy.ReplyFunc, _ proxy.Next) error {
	switch req.Command {
	case "hello", "isMaster", "ismaster":
		return answer.OK(req, reply, bson.E{Key: "isWritablePrimary", Value: true}, bson.E{Key: "helloOk", Value: true},
			bson.E{Key: "maxWireVersion", Value: 27}, bson.E{Key: "minWireVersion", Value: 0},
			bson.E{Key: "compression", Value: bson.A{s.compressor}})
	case "ping":
		s.mu.Lock()
		s.pings = append(s.pings, req.Message.Compression)
		s.mu.Unlock()
	}
	return answer.OK(req, reply, bson.E{Key: "said", Value: req.Document().Lookup("say")})
}

// The driver compresses with code that is not the codec's.
func TestDriverCompresses(t *testing.T) {
	for compressor, want := range map[string]wire.Compression{
		"snappy": wire.Snappy, "zlib": wire.Zlib, "zstd": wire.Zstd, "none": wire.Uncompressed,
	} {
		t.Run(compressor, func(t *testing.T) {
			s := &server{compressor: compressor}
			client := connect(t, s, "/?compressors=snappy,zlib,zstd&appName=x")
			var got struct{ Said string }
			require.NoError(t, client.Database("admin").RunCommand(t.Context(), bson.D{
				{Key: "ping", Value: 1}, {Key: "say", Value: "hello, hello, hello, hello"},
			}).Decode(&got))
			assert.Equal(t, "hello, hello, hello, hello", got.Said)
			assert.Equal(t, []wire.Compression{want}, s.pings)
		})
	}
}

func connect(t *testing.T, handler proxy.Handler, opts string) *mongo.Client {
	t.Helper()
	address := fronttest.Serve(t, proxy.Config{Handlers: []proxy.Handler{handler}})
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + address + opts))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, client.Disconnect(context.Background())) })
	return client
}

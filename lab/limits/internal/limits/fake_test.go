package limits

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/answer"
	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/fronttest"
	"mongofork/lab/internal/overload"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

// store is a server without limits: it keeps what is inserted, and finds all of it.
type store struct {
	// loses makes it acknowledge inserts that it does not keep.
	loses bool
	// old makes it answer as servers before 7.0 do when they do not know a parameter.
	old bool

	mu   sync.Mutex
	docs map[string]bson.A
}

// Handle implements proxy.Handler.
func (s *store) Handle(_ context.Context, req *proxy.Request, reply proxy.ReplyFunc, _ proxy.Next) error {
	switch req.Command {
	case "hello", "isMaster", "ismaster":
		return answer.OK(req, reply, bson.E{Key: "isWritablePrimary", Value: true}, bson.E{Key: "helloOk", Value: true},
			bson.E{Key: "maxWireVersion", Value: 27}, bson.E{Key: "minWireVersion", Value: 0},
			bson.E{Key: "maxBsonObjectSize", Value: 16 << 20}, bson.E{Key: "maxMessageSizeBytes", Value: wire.DefaultMaxMessageSize},
			bson.E{Key: "maxWriteBatchSize", Value: 100_000}, bson.E{Key: "logicalSessionTimeoutMinutes", Value: 30})
	case "getParameter", "setParameter":
		if s.old {
			raw, err := bson.Marshal(bson.D{{Key: "ok", Value: 0.0}, {Key: "errmsg", Value: "no option found to get"}})
			if err != nil {
				return err
			}
			return reply(req.Answer(raw))
		}
		return answer.Errorf(answer.CodeInvalidOptions, "there is no such parameter").Send(req, reply)
	case "insert":
		s.insert(req)
		return answer.OK(req, reply, bson.E{Key: "n", Value: 1})
	case "find":
		batch := s.all(req.Document().Lookup("find").StringValue())
		return answer.OK(req, reply, bson.E{Key: "cursor", Value: bson.D{
			{Key: "firstBatch", Value: batch}, {Key: "id", Value: int64(0)}, {Key: "ns", Value: "limits.c"},
		}})
	default:
		return answer.OK(req, reply)
	}
}

func (s *store) insert(req *proxy.Request) {
	if s.loses {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	collection := req.Document().Lookup("insert").StringValue()
	for _, sequence := range req.Message.Content.(*wire.Msg).Sequences {
		for _, doc := range sequence.Documents {
			s.docs[collection] = append(s.docs[collection], doc)
		}
	}
}

func (s *store) all(collection string) bson.A {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(bson.A{}, s.docs[collection]...)
}

// fake is a server that has limits.
type fake struct {
	uri         string
	requests    *overload.RequestLimiter
	connections *overload.ConnectionLimiter
}

// serve runs a server until the test ends, with limits unless it is told not to have them.
func serve(t *testing.T, s *store, rejection overload.Rejection, limited bool) *fake {
	t.Helper()
	s.docs = make(map[string]bson.A)
	f := &fake{}
	var err error
	f.requests, err = overload.NewRequestLimiter(overload.RequestLimiterConfig{
		Clock: clock.System{}, Limit: overload.Unlimited(), Rejection: rejection,
	})
	require.NoError(t, err)
	f.connections, err = overload.NewConnectionLimiter(clock.System{}, overload.Unlimited())
	require.NoError(t, err)
	config := proxy.Config{Handlers: []proxy.Handler{s}}
	if limited {
		config.Acceptors = []proxy.Acceptor{f.connections}
		config.Handlers = []proxy.Handler{
			overload.NewParameters(f.requests, f.connections), f.requests, overload.NewStatus(f.requests, f.connections), s,
		}
	}
	f.uri = "mongodb://" + fronttest.Serve(t, config)
	return f
}

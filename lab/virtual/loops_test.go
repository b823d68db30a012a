package virtual

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/servererror"
)

// repeated is a loop of the driver that begins anew after an error.
type repeated struct {
	name    string
	limit   string // what limits it: a number, a wait, or a time
	most    int    // that it sends in the five seconds
	counted []string
	dials   bool // are counted, rather than commands

	topology string
	opts     []string
	auth     string
	fails    []string // commands, each time
	how      func(Command) bson.Raw
	link     Link
	open     func(t *testing.T, ctx context.Context, coll *mongo.Collection) func(context.Context) error
	call     func(ctx context.Context, coll *mongo.Collection) error
}

const loopTime = 5 * time.Second

func failing(code int32, labels ...string) func(Command) bson.Raw {
	return func(Command) bson.Raw {
		e := servererror.Errorf(code, "the shard cannot be reached")
		e.Labels = labels
		return e.Reply()
	}
}

func broken(Command) bson.Raw { return nil }

func unreadable(Command) bson.Raw { return bsondoc.Marshal(bsondoc.D("ok", 1)) }

var resumes = []string{"aggregate", "getMore", "killCursors"}

// TestMeasure
func TestMeasure(t *testing.T) {
	_ = errors.New
	_ = net.ErrClosed
	_ = slices.Contains[[]string]
	for name, how := range map[string]func(Command) bson.Raw{"6": failing(6, "ResumableChangeStreamError"), "closed": broken, "unreadable": unreadable, "91": failing(91)} {
		for _, fails := range []string{"getMore", "getMore killCursors", "getMore killCursors aggregate", "hello2", "hello", "awaitable"} {
			virtually(t, name+fails, func(t *testing.T) {
				cluster := New(t, Options{Topology: "replicaset:1"})
				coll := connect(t, cluster.Client()).Database("db").Collection("c")
				stream, err := coll.Watch(t.Context(), mongo.Pipeline{})
				require.NoError(t, err)
				var hellos atomic.Int32
				cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
					if handshake(c) {
						hellos.Add(1)
					}
					if strings.Contains(fails, c.Name) || fails == "awaitable" && c.Body.Lookup("maxAwaitTimeMS").Type != 0 {
						return how(c)
					}
					return run()
				})
				cluster.Reset()
				ctx, cancel := context.WithTimeout(t.Context(), loopTime)
				defer cancel()
				before := cluster.Connections()
				stream.Next(ctx)
				<-ctx.Done()
				fmt.Println(name, fails, cluster.Count("aggregate"), cluster.Count("getMore"), cluster.Count("killCursors"), "conns", cluster.Connections()-before, "hellos", hellos.Load(), stream.Err(), stream.ID())
			})
		}
	}
	_ = assert.Equal
	_ = bson.D{}
	_ = options.Find
}

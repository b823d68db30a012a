package virtual

import (
	"context"
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

// loopTime is how long a loop is measured.
const loopTime = 5 * time.Second

// loop is one of the driver that repeats something after an error. Requests to key management services are in x/mongo/driver; libmongocrypt
// limits their number, and has the driver wait between them. After an error, DNS is asked for the hosts once every 10 seconds.
type loop struct {
	name  string // of the waiting call, and what fails
	limit string // what limits the loop
	most  int    // commands, hellos among them, and most connections, in that time

	call    opener   // unless it is that of the name
	endless bool     // the context has no deadline
	again   bool     // the call is made again a millisecond after its end
	fails   []string // these commands do, each time they are sent; all but hellos if there are none
	how     func(Command) bson.Raw
	link    Link  // that there is, instead of commands that fail
	ends    int32 // connections end at this message of the client
	client  string
	login   func() options.Credential
}

// limits of loops.
const (
	byWait      = "a wait that grows"
	byNumber    = "a number of retries"
	byTime      = "only the deadline (retryable-reads.md, \"Why are read operations only retried once by default?\")"
	byHeartbeat = "the rate of heartbeats"
	byNothing   = "nothing (server-monitoring.md: a monitor checks a server that it knew again at once)"
)

// noLimit is what loops may send that the specifications do not limit.
const noLimit = 1 << 20

// failsWith is a reply with an error that has these labels.
func failsWith(code int32, labels ...string) func(Command) bson.Raw {
	return func(Command) bson.Raw {
		failure := servererror.Errorf(code, "it fails by plan")
		failure.Labels = labels
		return failure.Reply()
	}
}

// asServers is a reply with an error that has the labels that servers give it.
func asServers(code int32) func(Command) bson.Raw {
	return func(c Command) bson.Raw { return Fail(c, code) }
}

func hangsUp(Command) bson.Raw { return nil }

func noCursor(Command) bson.Raw { return bsondoc.Marshal(bsondoc.D("ok", 1)) }

// Next is called for a tenth of a second, of a stream that is opened at first.
var shortly = using(watch, func(ctx context.Context, s *mongo.ChangeStream) error {
	ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	s.Next(ctx)
	return s.Err()
})

// asAdvised reads a stream as docs/overload/iterators.md says.
var asAdvised = using(watch, func(ctx context.Context, s *mongo.ChangeStream) error {
	for {
		for s.Next(ctx) {
		}
		if ctx.Err() != nil || s.ID() == 0 {
			return s.Err()
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
})

var tailing = using(func(t *testing.T, coll *mongo.Collection) *mongo.Cursor {
	cursor, err := coll.Find(context.Background(), bson.D{}, options.Find().SetCursorType(options.TailableAwait))
	require.NoError(t, err)
	return cursor
}, func(ctx context.Context, c *mongo.Cursor) error {
	for c.Next(ctx) {
	}
	return c.Err()
})

// idle is an application that waits.
var idle = once(false, func(ctx context.Context, _ *mongo.Client, _ *mongo.Collection) error { <-ctx.Done(); return nil })

func oidc() options.Credential { return Credential("MONGODB-OIDC") }

// loops are all of the driver's.
func loops() (all []loop) {
	resumable := func(code int32) func(Command) bson.Raw { return failsWith(code, "ResumableChangeStreamError") }
	getMore, each := []string{"getMore"}, []string{}
	for _, code := range []int32{6, 43, 133, 234} {
		all = append(all, loop{name: fmt.Sprint("ChangeStream.Next/getMore fails with ", code), limit: byWait, most: 60, fails: getMore,
			how: resumable(code)})
	}
	all = append(all,
		loop{name: "ChangeStream.Next/overload", limit: byWait, most: 60, fails: getMore,
			how: failsWith(473, "SystemOverloadedError", "ResumableChangeStreamError")},
		loop{name: "ChangeStream.Next/closed connections", limit: byWait, most: 60, fails: getMore, how: hangsUp},
		loop{name: "ChangeStream.Next/unreadable replies", limit: byNumber, most: 60, fails: getMore, how: noCursor},
		loop{name: "ChangeStream.Next/killCursors fails, too", limit: byWait, most: 60, fails: []string{"getMore", "killCursors"},
			how: resumable(6)},
		loop{name: "ChangeStream.Next/all fail", limit: byWait, most: 60, fails: each, how: resumable(6)},
		loop{name: "ChangeStream.Next/all connections are closed", limit: byWait, most: 60, fails: each, how: hangsUp},
		loop{name: "ChangeStream.Next/without a deadline", limit: byWait, most: 60, fails: getMore, how: resumable(6), endless: true},
		loop{name: "ChangeStream.TryNext/again at once", limit: byWait, most: 60, fails: getMore, how: resumable(6), again: true},
		loop{name: "ChangeStream.Next/a tenth of a second each", limit: byWait, most: 60, fails: getMore, how: resumable(6),
			call: shortly, again: true},
		loop{name: "ChangeStream.Next/a tenth of a second each, all fail", limit: byWait, most: 60, fails: each, how: resumable(6),
			call: shortly, again: true},
		loop{name: "ChangeStream.Next/as advised", limit: byWait, most: 60, fails: getMore, how: resumable(6),
			call: asAdvised, endless: true},
		loop{name: "ChangeStream.Next/as advised, with a Timeout", limit: byWait, most: 60, fails: each, how: resumable(6),
			call: asAdvised, endless: true, client: "timeoutMS=700"},
		loop{name: "ChangeStream.Next/refused connections", limit: byHeartbeat, most: 60, link: Refusing, call: asAdvised, endless: true,
			client: "serverSelectionTimeoutMS=100"},
		loop{name: "ChangeStream.Close/it fails", limit: byNumber, most: 10, fails: []string{"killCursors"}, how: asServers(6)},
	)
	for _, name := range []string{"Cursor.Next", "Cursor.TryNext", "Cursor.All", "Cursor.Close", "GridFSDownloadStream.Read",
		"GridFSDownloadStream.Skip",
		"GridFSUploadStream.Write", "GridFSUploadStream.Close", "GridFSUploadStream.Abort", "GridFSBucket.UploadFromStream", "GridFSBucket.Delete",
		"GridFSBucket.DownloadToStream", "Collection.FindOne", "Collection.InsertOne", "Collection.UpdateMany", "Collection.BulkWrite",
		"Collection.InsertMany", "Client.BulkWrite", "Client.Ping", "Database.RunCommand", "Database.ListCollectionNames", "Collection.Watch",
		"Session.CommitTransaction", "Session.AbortTransaction", "Session.EndSession", "Client.Disconnect", "Collection.FindOne, in a transaction"} {
		all = append(all, loop{name: name + "/all fail", limit: byNumber, most: 10, fails: each, how: asServers(6), endless: true},
			loop{name: name + "/all connections are closed", limit: byNumber, most: 20, fails: each, how: hangsUp, endless: true},
			loop{name: name + "/unreadable replies", limit: byNumber, most: 10, fails: each, how: noCursor, endless: true})
	}
	for _, name := range []string{"Collection.FindOne", "Collection.InsertOne", "Client.BulkWrite", "Session.CommitTransaction",
		"Session.AbortTransaction", "Session.EndSession", "GridFSUploadStream.Write", "Collection.Watch"} {
		all = append(all, loop{name: name + "/with a deadline", limit: byTime, most: noLimit, fails: each, how: asServers(6)})
	}
	for name, how := range map[string]func(Command) bson.Raw{
		"conflicts": asServers(112), "unreachable": asServers(6), "closed connections": hangsUp,
	} {
		for _, command := range []string{"insert", "commitTransaction", "abortTransaction"} {
			all = append(all, loop{name: "Session.WithTransaction/" + name + " of " + command, limit: byWait, most: 320,
				fails: []string{command}, how: how, endless: true})
		}
	}
	return append(all,
		loop{name: "Cursor.Next/a tailable one", limit: byNumber, most: 10, fails: getMore, how: asServers(6), call: tailing},
		loop{name: "Collection.FindOne/reauthentication", limit: byNumber, most: 20, fails: []string{"find"},
			how: asServers(391), login: oidc},
		loop{name: "Collection.FindOne/authentication", limit: byNumber, most: 60, fails: []string{"saslStart"},
			how: asServers(18), login: oidc},
		loop{name: "Collection.FindOne/closed in authentication", limit: byNumber, most: 60, fails: []string{"saslStart"},
			how: hangsUp, login: oidc},
		loop{name: "Collection.FindOne/closed in hello", limit: byHeartbeat, most: 60, ends: 1},
		loop{name: "Collection.FindOne/refused connections", limit: byHeartbeat, most: 60, link: Refusing},
		loop{name: "Collection.FindOne/connections that are closed", limit: byHeartbeat, most: 60, link: Closing},
		loop{name: "a monitor/closed in hello", limit: byHeartbeat, most: 60, ends: 1, call: idle},
		loop{name: "a monitor/refused connections", limit: byHeartbeat, most: 60, link: Refusing, call: idle},
		loop{name: "a monitor/closed in its second hello", limit: byNothing, most: noLimit, ends: 2, call: idle},
		loop{name: "a pool's minPoolSize/closed in hello", limit: byHeartbeat, most: 60, ends: 1, call: idle, client: "minPoolSize=10"},
		loop{name: "a pool's minPoolSize/refused connections", limit: byHeartbeat, most: 60, link: Refusing,
			call: idle, client: "minPoolSize=10"},
	)
}

// TestLoops is about what each loop sends in five seconds, and how often it connects, if servers fail each time.
func TestLoops(t *testing.T) {
	for _, l := range loops() {
		virtually(t, l.name, l.measure)
	}
}

// measure measures a loop.
func (l loop) measure(t *testing.T) {
	name, _, _ := strings.Cut(l.name, "/")
	cluster, dialer, client := l.start(t, name)
	ctx, cancel := context.WithCancel(context.Background())
	if !l.endless {
		ctx, cancel = context.WithTimeout(ctx, loopTime)
	}
	defer cancel()
	call := l.call
	if call == nil {
		call = waitingCalls()[name]
	}
	w := call(t, ctx, client, client.Database("db").Collection("c"))
	sent, restore := l.fail(cluster, dialer)
	before, start, done := dialer.dials.Load(), time.Now(), make(chan error, 1)
	go func() {
		err := w.call(ctx)
		for l.again && time.Since(start) < loopTime {
			time.Sleep(time.Millisecond)
			err = w.call(ctx)
		}
		done <- err
	}()
	time.Sleep(loopTime)
	commands, connections := sent.Load(), dialer.dials.Load()-before
	cancel()
	err := <-done
	restore()
	what := fmt.Sprintf("%d commands, %d dials, limited by %s: %v", commands, connections, l.limit, err)
	assert.LessOrEqual(t, int(commands), l.most, what)
	assert.LessOrEqual(t, int(connections), l.most, what)
	if l.most == noLimit {
		assert.Greater(t, int(max(commands, connections)), 100, what)
	}
	t.Log(what)
}

// start connects a client, whose connections are counted.
func (l loop) start(t *testing.T, call string) (*Cluster, countingDialer, *mongo.Client) {
	setup := Options{Topology: "replicaset:1"}
	if l.login != nil {
		setup.Auth, setup.TLS = &Auth{}, encryption()
	}
	cluster := New(t, setup)
	fill(cluster, call)
	opts := cluster.Client(l.client)
	if l.login != nil {
		opts = cluster.Client("tls=true", "tlsInsecure=true", l.client).SetAuth(l.login())
	}
	dialer := countingDialer{&cluster.network, new(atomic.Int32), new(atomic.Int32)}
	client := connect(t, opts.SetDialer(dialer))
	require.NoError(t, client.Ping(context.Background(), nil))
	return cluster, dialer, client
}

// countingDialer counts connections. Once it ends them, each ends at one of its messages.
type countingDialer struct {
	*network
	dials *atomic.Int32
	ends  *atomic.Int32 // at which; 0 is at none
}

func (d countingDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	d.dials.Add(1)
	conn, err := d.network.DialContext(ctx, network, address)
	if ends := d.ends.Load(); err == nil && ends > 0 {
		return &endingConn{Conn: conn, left: ends}, nil
	}
	return conn, err
}

// endingConn ends at a message.
type endingConn struct {
	net.Conn
	left int32
}

func (c *endingConn) Write(p []byte) (int, error) {
	if c.left--; c.left == 0 {
		c.Conn.(*conn).reset()
	}
	return c.Conn.Write(p)
}

// fail makes the commands fail. It returns how many come.
func (l loop) fail(cluster *Cluster, dialer countingDialer) (sent *atomic.Int32, restore func()) {
	sent = new(atomic.Int32)
	slow := time.Duration(0)
	if l.most == noLimit {
		slow = 20 * time.Millisecond // a loop without a limit takes less time to test
	}
	cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
		sent.Add(1)
		if l.how == nil || !slices.Contains(l.fails, c.Name) && (len(l.fails) > 0 || handshake(c)) {
			return run()
		}
		time.Sleep(slow)
		return l.how(c)
	})
	if l.link != Up || l.ends > 0 || slices.Contains(l.fails, "saslStart") { // without the connections that there are
		dialer.ends.Store(l.ends)
		cluster.SetLink(l.link)
		cluster.Reset()
	}
	return sent, func() { cluster.Intercept(nil); cluster.SetLink(Up); dialer.ends.Store(0) }
}

package virtual

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
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
	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/servererror"
	"mongofork/tools/strict"
)

// loopTime is how long a loop is measured.
const loopTime = 5 * time.Second

// loop is a loop of the driver: testdata/loops.yaml says what its fields mean.
type loop struct {
	Calls, Fails, How          []string
	Limit, Using, Link, Client string
	Most, Ends                 int
	Endless, Again, Login      bool
}

// noLimit is what loops may send that the specifications do not limit.
const noLimit = -1

// failing is the reply to a command that fails, or nil to close the connection.
func failing(how string, c Command) bson.Raw {
	kind, rest, _ := strings.Cut(how, " ")
	code := func(text string) int32 {
		n, _ := strconv.Atoi(text)
		return int32(n)
	}
	switch kind {
	case "closed":
		return nil
	case "unreadable":
		return bsondoc.Marshal(bsondoc.D("ok", 1))
	case "server":
		return Fail(c, code(rest))
	}
	failed := servererror.Errorf(code(kind), "it fails by plan")
	failed.Labels = strings.Fields(rest)
	return failed.Reply()
}

// loopCalls are calls that only loops make.
var loopCalls = map[string]opener{
	"a tenth of a second": using(watch, func(ctx context.Context, s *mongo.ChangeStream) error {
		ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		s.Next(ctx)
		return s.Err()
	}),
	"as advised": using(watch, func(ctx context.Context, s *mongo.ChangeStream) error { // by docs/overload/iterators.md
		for {
			for s.Next(ctx) {
			}
			if ctx.Err() != nil || s.ID() == 0 {
				return s.Err()
			}
			_ = clock.Wait(ctx, time.Second)
		}
	}),
	"a tailable cursor": using(func(t *testing.T, coll *mongo.Collection) *mongo.Cursor {
		cursor, err := coll.Find(context.Background(), bson.D{}, options.Find().SetCursorType(options.TailableAwait))
		require.NoError(t, err)
		return cursor
	}, func(ctx context.Context, c *mongo.Cursor) error {
		for c.Next(ctx) {
		}
		return c.Err()
	}),
	"idling": once(false, func(ctx context.Context, _ *mongo.Client, _ *mongo.Collection) error { <-ctx.Done(); return nil }),
}

// TestLoops is about what each loop sends in five seconds, and how often it connects, if servers fail each time.
func TestLoops(t *testing.T) {
	var loops []loop
	require.NoError(t, strict.Read("testdata/loops.yaml", &loops))
	for _, l := range loops {
		if len(l.How) == 0 {
			l.How = []string{""}
		}
		l.Most = cmp.Or(l.Most, 60)
		for _, call := range l.Calls {
			for _, how := range l.How {
				name := []string{call, strings.Join(l.Fails, " "), how, l.Using, l.Link, l.Client}
				name = slices.DeleteFunc(name, func(part string) bool { return part == "" })
				virtually(t, strings.Join(name, "/"), func(t *testing.T) { l.measure(t, call, how) })
			}
		}
	}
}

// measure measures a loop.
func (l loop) measure(t *testing.T, name, how string) {
	cluster, dialer, client := l.start(t, name)
	ctx, cancel := context.WithCancel(context.Background())
	if !l.Endless {
		ctx, cancel = context.WithTimeout(ctx, loopTime)
	}
	defer cancel()
	call := waitingCalls()[name]
	if l.Using != "" {
		call = loopCalls[l.Using]
	}
	w := call(t, ctx, client, client.Database("db").Collection("c"))
	sent, restore := l.fail(cluster, dialer, how)
	before, start, done := dialer.dials.Load(), time.Now(), make(chan error, 1)
	go func() {
		err := w.call(ctx)
		for l.Again && time.Since(start) < loopTime {
			time.Sleep(time.Millisecond)
			err = w.call(ctx)
		}
		done <- err
	}()
	time.Sleep(loopTime)
	commands, connections := int(sent.Load()), int(dialer.dials.Load()-before)
	cancel()
	err := <-done
	restore()
	what := fmt.Sprintf("%d commands, %d dials, limited by %s: %v", commands, connections, l.Limit, err)
	if l.Most == noLimit {
		assert.Greater(t, max(commands, connections), 100, what)
	} else {
		assert.LessOrEqual(t, max(commands, connections), l.Most, what)
	}
	t.Log(what)
}

// start connects a client, whose connections are counted.
func (l loop) start(t *testing.T, call string) (*Cluster, countingDialer, *mongo.Client) {
	setup := Options{Topology: "replicaset:1"}
	if l.Login {
		setup.Auth, setup.TLS = &Auth{}, encryption()
	}
	cluster := New(t, setup)
	fill(cluster, call)
	opts := cluster.Client(l.Client)
	if l.Login {
		opts = cluster.Client("tls=true", "tlsInsecure=true", l.Client).SetAuth(Credential("MONGODB-OIDC"))
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
func (l loop) fail(cluster *Cluster, dialer countingDialer, how string) (sent *atomic.Int32, restore func()) {
	sent = new(atomic.Int32)
	slow := time.Duration(0)
	if l.Most == noLimit {
		slow = 20 * time.Millisecond // a loop without a limit takes less time to test
	}
	cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
		sent.Add(1)
		if how == "" || !slices.Contains(l.Fails, c.Name) && (len(l.Fails) > 0 || handshake(c)) {
			return run()
		}
		time.Sleep(slow)
		return failing(how, c)
	})
	link := map[string]Link{"refusing": Refusing, "closing": Closing}[l.Link]
	if link != Up || l.Ends > 0 || slices.Contains(l.Fails, "saslStart") { // without the connections that there are
		dialer.ends.Store(int32(l.Ends))
		cluster.SetLink(link)
		cluster.Reset()
	}
	return sent, func() { cluster.Intercept(nil); cluster.SetLink(Up); dialer.ends.Store(0) }
}

// Package virtual runs the driver in virtual time: a network and a deployment in memory, for bubbles of testing/synctest. Time is
// fake and exact, so that a minute takes milliseconds and the machine's load does not count.
//
// The servers are the lab's: its topologies, limits, errors and labels, before a small database in memory with sessions,
// transactions, retryable writes, cursors and change streams. TestTimeoutOfResults is an example.
//
// What else can happen: SetLink (silence, refused connections, a proxy that accepts and closes), Reset, Stop, Restart, StepDown,
// SetCapacity, LimitRequests, LimitConnections, Tamper.
//
// The test runs with the driver that go.mod requires, or any other that a go.work puts in its place: see "rig with --help". Options
// that a driver lacks, given in the connection string, are ignored by it.
package virtual

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/overload"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/servererror"
	"mongofork/lab/internal/topology"
)

// Options are the options of a cluster. The zero value is a replica set of three members without limits.
type Options struct {
	Topology string // a topology of the lab: "standalone", "replicaset:3", "sharded:2" or "loadbalanced:2"
	// Nearest is the number of the host that messages reach first. All hosts are at different distances, so that the order of arrival
	// never depends on chance.
	Nearest int
	// Batch, unless 0, is how many statements servers accept in one write. The first reply to a client bulk write then has one result.
	Batch int
	Auth  *Auth       // unless nil, how clients have to authenticate
	TLS   *tls.Config // unless nil, what servers encrypt connections with
}

// Command is a command that a server received.
type Command struct {
	Host       string
	Connection uint64 // numbers the host's connections from 1
	Request    int32  // numbers the client's messages
	Name       string
	Body       bson.Raw // with the documents that were sent beside it
	Compressed bool
	Conn       net.Conn // the server's end
	Reset      func()   // ends it on both sides
}

// Hook sees each command before the server does, hellos included. It may sleep, and it may call run, which lets the server answer. It
// returns the reply, or nil to close the connection without one. Several goroutines call it at the same time.
type Hook func(command Command, run func() bson.Raw) bson.Raw

// Cluster is a deployment in memory. Its methods may be called at any time.
type Cluster struct {
	*store
	network  network
	topology *topology.Cluster
	hook     atomic.Pointer[Hook]
	counts   map[string]int // the store's lock is for it
}

// New starts a cluster in the bubble of the test, and ends it with the test.
func New(t testing.TB, opts Options) *Cluster {
	t.Helper()
	c, end, err := Start(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	return c
}

// Start starts a cluster, which the caller has to end.
func Start(opts Options) (started *Cluster, end func(), err error) {
	spec, err := topology.ParseSpec(cmp.Or(opts.Topology, "replicaset:3"))
	if err != nil {
		return nil, nil, err
	}
	c := &Cluster{store: newStore(spec, opts), counts: map[string]int{}}
	c.Intercept(nil)
	n := spec.Fronts()
	for i := range n {
		c.network.hosts = append(c.network.hosts, &host{network: &c.network, cluster: c,
			address: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 27017 + i},
			latency: latency + farther*time.Duration((i+n-opts.Nearest%n)%n), limits: overload.NewFront(),
			changed: make(chan struct{})})
	}
	c.topology = topology.New(spec, c.Hosts())
	ctx, cancel := context.WithCancel(context.Background())
	var fronts []*proxy.Front
	for i, h := range c.network.hosts {
		front := proxy.New(proxy.Config{
			Accept: h.limits.Accept,
			// A hello is answered several times, so the hook sees it for each; other commands before anything is done.
			Handlers: []proxy.Handler{h.hooked(false), h.limits.Handle, c.topology.Handler(i), h.hooked(true)},
			Answer: func(ctx context.Context, req *proxy.Request) (bson.Raw, error) {
				return c.run(ctx, h.address.String(), req), nil
			},
		})
		h.accept = func(conn net.Conn) {
			if opts.TLS != nil {
				conn = tls.Server(conn, opts.TLS)
			}
			front.Go(ctx, conn)
		}
		fronts = append(fronts, front)
	}
	return c, func() {
		cancel()
		for _, front := range fronts {
			front.Wait()
		}
	}, nil
}

// hooked counts hellos, or all other commands, and lets the hook see them.
func (h *host) hooked(hellos bool) proxy.Handler {
	return func(ctx context.Context, req *proxy.Request, next proxy.Next) (bson.Raw, error) {
		if proxy.IsHello(req.Command) != hellos {
			return next(ctx, req)
		}
		h.cluster.mu.Lock()
		h.cluster.counts[req.Command]++
		h.cluster.mu.Unlock()
		hook := *h.cluster.hook.Load()
		if hook == nil {
			return next(ctx, req)
		}
		var failed error
		command := Command{Host: h.address.String(), Connection: req.Client.ID, Request: req.Message.RequestID, Name: req.Command,
			Body: req.Message.Whole(), Compressed: req.Message.Compressor != 0, Conn: req.Client.Conn,
			Reset: endOf(req.Client.Conn).reset}
		reply := hook(command, func() (answered bson.Raw) {
			answered, failed = next(ctx, req)
			return answered
		})
		switch {
		case failed != nil:
			return nil, failed
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case reply == nil:
			return nil, proxy.ErrClose
		}
		return reply, nil
	}
}

// endOf returns the server's end of a connection, below TLS.
func endOf(c net.Conn) *conn {
	if encrypted, ok := c.(*tls.Conn); ok {
		c = encrypted.NetConn()
	}
	return c.(*conn)
}

// Hosts returns the addresses that clients may connect to.
func (c *Cluster) Hosts() (hosts []string) {
	for _, h := range c.network.hosts {
		hosts = append(hosts, h.address.String())
	}
	return hosts
}

// Client returns the options of a client of the cluster. Further options of the connection string, such as "retryReads=false",
// may follow: a driver that does not know one ignores it.
func (c *Cluster) Client(uriOptions ...string) *options.ClientOptions {
	uris := c.spec.URIs(c.Hosts())
	uri := uris[len(uris)-1]
	if !strings.Contains(uri, "?") {
		uri += "?"
	}
	return options.Client().ApplyURI(uri + "&" + strings.Join(uriOptions, "&")).SetDialer(&c.network)
}

// Intercept sets the hook; nil removes it.
func (c *Cluster) Intercept(hook Hook) { c.hook.Store(&hook) }

// Count returns the number of the commands of these names so far, or of all but hellos if none is given.
func (c *Cluster) Count(names ...string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, count := range c.counts {
		if slices.Contains(names, name) || len(names) == 0 && !proxy.IsHello(name) {
			n += count
		}
	}
	return n
}

// Connections returns the number of the connections that clients have opened so far.
func (c *Cluster) Connections() int {
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	return c.network.opened
}

// SetLink changes the network between clients and hosts of these numbers, or all hosts if none is given.
func (c *Cluster) SetLink(link Link, hosts ...int) {
	for _, h := range c.selected(hosts) {
		h.set(link)
	}
}

// Reset ends all connections to hosts of these numbers, or all hosts if none is given, as a crash does.
func (c *Cluster) Reset(hosts ...int) {
	for _, h := range c.selected(hosts) {
		h.reset()
	}
}

// Stop crashes a server: its connections are reset, and new ones refused. If it was primary, another is elected.
func (c *Cluster) Stop(host int) {
	c.SetLink(Refusing, host)
	c.Reset(host)
	c.topology.Down(host)
}

// Restart brings back a server that was stopped.
func (c *Cluster) Restart(host int) {
	c.topology.Up(host)
	c.SetLink(Up, host)
}

// StepDown makes the primary, if there is one, a secondary for that long.
func (c *Cluster) StepDown(period time.Duration) { c.topology.StepDown(period) }

// Capacity is what a server can do.
type Capacity = overload.Capacity

// SetCapacity gives all hosts a capacity each.
func (c *Cluster) SetCapacity(capacity *Capacity) {
	for _, h := range c.network.hosts {
		h.limits.SetCapacity(capacity)
	}
}

// LimitRequests limits the requests that hosts of these numbers, or all hosts, admit per second.
func (c *Cluster) LimitRequests(perSecond int32, burst float64, hosts ...int) {
	for _, h := range c.selected(hosts) {
		h.limits.Requests.SetLimit(overload.Limit{Enabled: true, RatePerSec: perSecond, BurstCapacitySecs: burst})
	}
}

// LimitConnections limits the new connections that all hosts let in per second. They close others at once.
func (c *Cluster) LimitConnections(perSecond int32, burst float64) {
	for _, h := range c.network.hosts {
		h.limits.Connections.SetLimit(overload.Limit{Enabled: true, RatePerSec: perSecond, BurstCapacitySecs: burst})
	}
}

func (c *Cluster) selected(hosts []int) (selected []*host) {
	for _, index := range hosts {
		selected = append(selected, c.network.hosts[index])
	}
	if len(hosts) == 0 {
		return c.network.hosts
	}
	return selected
}

// RequestRate is the rejection with code 462, both labels, and NoWritesPerformed.
var RequestRate = servererror.RequestRate

// Fail returns the reply of a server for a command that failed, with the labels that a real one gives it.
func Fail(command Command, code int32) bson.Raw {
	failure := servererror.Errorf(code, "the command fails by plan")
	failure.Labels = servererror.Labels(command.Body, code, 0, false)
	return failure.Reply()
}

// WithConcern returns a reply with a write concern error, and the labels that a server gives it.
func WithConcern(command Command, reply bson.Raw, code int32) bson.Raw {
	if reply == nil {
		return nil
	}
	concern := bsondoc.D("code", code, "codeName", servererror.CodeName(code), "errmsg", "the write concern fails by plan")
	return servererror.WithConcern(reply, concern, servererror.Labels(command.Body, 0, code, false))
}

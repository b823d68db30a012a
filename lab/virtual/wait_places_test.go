package virtual

import (
	"context"
	"crypto/tls"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// A place is where a call waits.
type place struct {
	name string
	opts []string // of the client
	// make lets calls wait there that send these commands. It returns what lets them go on.
	make func(c *Cluster, client *mongo.Client, commands []string) (release func())
	// says is in the texts of timeouts there.
	says string
	// sent is whether a command may have been sent whose reply does not come.
	sent bool
	// rejected is whether the servers reject what is sent.
	rejected bool
	// establishes is whether a connection is being established.
	establishes bool
	// later is whether only a second command of the call waits there.
	later   bool
	cluster Options
}

// topologies are those in which a call waits there: without its connection, a cursor behind a load balancer does not need what is between
// an operation and its connection.
func (p place) topologies() []string {
	if p.sent || p.rejected {
		return []string{"replicaset:1", "loadbalanced:1"}
	}
	return []string{"replicaset:1"}
}

// client returns the options of a client that can wait there, but for those that are left out.
func (p place) client(cluster *Cluster, without ...string) *options.ClientOptions {
	opts := cluster.Client(slices.DeleteFunc(slices.Clone(p.opts), func(o string) bool { return slices.Contains(without, o) })...)
	if p.cluster.Auth != nil {
		opts.SetAuth(Credential("PLAIN"))
	}
	return opts
}

// handshake reports whether a command is a monitor's, or one that establishes a connection.
func handshake(command Command) bool {
	return slices.Contains([]string{"hello", "isMaster", "ismaster"}, command.Name) || strings.HasPrefix(command.Name, "sasl")
}

// establishing reports whether a command is part of the handshake of a new connection.
func establishing(command Command) bool {
	_, err := command.Body.LookupErr("topologyVersion")
	return handshake(command) && err != nil
}

// held lets commands wait that the function names. Those that waited are then answered as the others are.
func held(c *Cluster, waits func(Command) bool) func() {
	gone := make(chan struct{})
	c.Intercept(func(command Command, run func() bson.Raw) bson.Raw {
		select {
		case <-gone:
			return run()
		default:
		}
		if !waits(command) {
			return run()
		}
		<-gone
		if hook := *c.hook.Load(); hook != nil {
			return hook(command, run)
		}
		return run()
	})
	return sync.OnceFunc(func() { close(gone) })
}

// later returns a function that reports whether a command has one of these names, and so many came before it, on any connection.
func later(commands []string, after int) func(Command) bool {
	var came atomic.Int64
	return func(command Command) bool {
		return slices.Contains(commands, command.Name) && came.Add(1) > int64(after)
	}
}

// rejecting lets servers reject the commands of these names, after so many.
func rejecting(c *Cluster, commands []string, after int) {
	rejected := later(commands, after)
	c.Intercept(func(command Command, run func() bson.Raw) bson.Raw {
		if rejected(command) {
			return RequestRate.Reply()
		}
		return run()
	})
}

const (
	oneConnection = "maxPoolSize=1"
	newConnection = "maxIdleTimeMS=1"
	manyRetries   = "maxAdaptiveRetries=1000"
)

// linked lets calls wait for what a link does not do.
func linked(link Link) func(*Cluster, *mongo.Client, []string) func() {
	return func(c *Cluster, _ *mongo.Client, _ []string) func() {
		c.SetLink(link)
		return func() { c.SetLink(Up) }
	}
}

var places = []place{
	{name: "selection", says: "server selection", make: func(c *Cluster, _ *mongo.Client, _ []string) func() {
		c.SetLink(Refusing)
		c.Reset()
		return func() { c.SetLink(Up) }
	}},
	{name: "queue", says: "checking out a connection", opts: []string{oneConnection}, make: func(c *Cluster, client *mongo.Client, _ []string) func() {
		release := held(c, func(command Command) bool {
			return command.Name == "distinct" && command.Body.Lookup("key").StringValue() == "held"
		})
		go func() {
			long, cancel := context.WithTimeout(context.Background(), time.Hour) // longer than the client's Timeout
			defer cancel()
			client.Database("db").Collection("c").Distinct(long, "held", bson.D{})
		}()
		return release
	}},
	{name: "dial", says: "connection", opts: []string{newConnection}, establishes: true, make: linked(Silent)},
	{name: "TLS", opts: []string{newConnection, "tls=true&tlsInsecure=true"}, establishes: true, make: linked(Mute),
		cluster: Options{TLS: encryption()}},
	{name: "hello", says: "connection", opts: []string{newConnection}, establishes: true, make: func(c *Cluster, _ *mongo.Client, _ []string) func() {
		return held(c, establishing)
	}},
	{name: "authentication", opts: []string{newConnection}, establishes: true,
		cluster: Options{Auth: &Auth{}},
		make: func(c *Cluster, _ *mongo.Client, _ []string) func() {
			return held(c, func(command Command) bool { return strings.HasPrefix(command.Name, "sasl") })
		}},
	{name: "send", sent: true, make: linked(Choked)},
	{name: "reply", says: "read", sent: true, make: func(c *Cluster, _ *mongo.Client, commands []string) func() {
		return held(c, later(commands, 0))
	}},
	{name: "reply between batches", sent: true, later: true, make: func(c *Cluster, _ *mongo.Client, commands []string) func() {
		return held(c, later(commands, 1))
	}},
	{name: "backoff", rejected: true, opts: []string{manyRetries}, make: func(c *Cluster, _ *mongo.Client, commands []string) func() {
		rejecting(c, commands, 0)
		return func() {}
	}},
	{name: "backoff between batches", rejected: true, later: true, opts: []string{manyRetries},
		make: func(c *Cluster, _ *mongo.Client, commands []string) func() {
			rejecting(c, commands, 1)
			return func() {}
		}},
}

// encryption returns what servers encrypt with, by a certificate that nobody trusts.
func encryption() *tls.Config {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	return server.TLS
}

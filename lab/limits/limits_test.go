// Package limits lets an application with the fork meet a server's own limits on the rates of requests and of new connections, if
// MONGODB_URI names one that has them. It uses what the fork adds to the driver, so it is a module of its own.
package limits

import (
	"context"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Parameters of servers since 8.2.
const (
	limitRequests    = "ingressRequestRateLimiterEnabled"
	limitConnections = "ingressConnectionEstablishmentRateLimiterEnabled"
	exemptions       = "ingressRequestRateLimiterApplicationExemptions"
)

// rates admit 50 requests a second with 5 saved up, which rejects most of a wave at first, and admits all of it long before an operation
// has used up its retries, whose backoffs add up to 1.5 seconds on average. Connections are admitted by twice that rate, for each takes
// the time of a handshake before it is of use.
var rates = bson.D{
	{Key: "ingressRequestAdmissionRatePerSec", Value: 50},
	{Key: "ingressRequestAdmissionBurstCapacitySecs", Value: 0.1},
	{Key: "ingressConnectionEstablishmentRatePerSec", Value: 100},
	{Key: "ingressConnectionEstablishmentBurstCapacitySecs", Value: 0.05},
	{Key: "ingressConnectionEstablishmentMaxQueueDepth", Value: 0},
}

const (
	database      = "limits" // is dropped before and after
	administrator = "limits-administrator"

	// requests are enough to be limited, and as many as the driver makes connections ready for at once.
	requests = 10
	// connections are enough to be limited.
	connections = 20
)

func TestLimitsOfAServer(t *testing.T) {
	uri := os.Getenv("MONGODB_URI")
	if uri == "" {
		t.Skip("MONGODB_URI is not set; name a mongod or mongos of 8.2 or later, for tests only: while this runs, all " +
			"applications are limited")
	}
	// A single connection needs no other while connections are limited.
	admin, err := mongo.Connect(options.Client().ApplyURI(uri).SetAppName(administrator).SetMaxPoolSize(1).SetMaxAdaptiveRetries(5))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, admin.Disconnect(context.Background())) })
	prepare(t, admin)

	t.Run("requests", func(t *testing.T) {
		app := connect(t, uri)
		app.wave(t, requests) // makes connections ready
		set(t, admin, bson.E{Key: limitRequests, Value: true})
		app.wave(t, requests)
		set(t, admin, bson.E{Key: limitRequests, Value: false})
		app.assertDone(t, admin)
		assert.Zero(t, app.closed.Load(), "connections that were not kept")
	})
	t.Run("connections", func(t *testing.T) {
		app := connect(t, uri)
		set(t, admin, bson.E{Key: limitConnections, Value: true})
		app.wave(t, connections)
		set(t, admin, bson.E{Key: limitConnections, Value: false})
		app.assertDone(t, admin)
		assert.Positive(t, app.closed.Load(), "connections that the server did not admit")
	})
}

func set(t *testing.T, admin *mongo.Client, parameter bson.E) {
	command := bson.D{{Key: "setParameter", Value: 1}, parameter}
	require.NoError(t, admin.Database("admin").RunCommand(context.Background(), command).Err(), "set %v", parameter)
}

// prepare skips the test unless the server has all parameters, and sets them until the test's end. It exempts the administrator, without
// whom nobody could end the limit, and the other members of the server's deployment.
func prepare(t *testing.T, admin *mongo.Client) {
	var all bson.M
	require.NoError(t, admin.Database("admin").RunCommand(t.Context(), bson.D{{Key: "getParameter", Value: "*"}}).Decode(&all),
		"read the server's parameters; where users have to authenticate, name one with the role root")
	exempted, _ := all[exemptions].(bson.A) // servers that exempt none say so with null
	all[exemptions] = bson.D{{Key: "appNames", Value: append(bson.A{}, exempted...)}}
	var former bson.D
	for _, name := range []string{limitRequests, limitConnections} { // before anything else is restored
		former = append(former, bson.E{Key: name, Value: all[name]})
	}
	for _, rate := range rates {
		former = append(former, bson.E{Key: rate.Key, Value: all[rate.Key]})
	}
	former = append(former, bson.E{Key: exemptions, Value: all[exemptions]})
	for _, parameter := range former {
		if parameter.Value == nil {
			t.Skipf("the server has no %s: it takes a mongod or mongos of 8.2 or later", parameter.Key)
		}
	}
	require.NoError(t, admin.Database(database).Drop(t.Context()))
	t.Cleanup(func() {
		for _, parameter := range former {
			set(t, admin, parameter)
		}
		assert.NoError(t, admin.Database(database).Drop(context.Background()))
	})
	exempted = append(exempted, administrator, "MongoDB Internal Client", "NetworkInterfaceTL", "OplogFetcher")
	set(t, admin, bson.E{Key: exemptions, Value: bson.D{{Key: "appNames", Value: exempted}}})
	for _, rate := range rates {
		set(t, admin, rate)
	}
}

// slowNetwork is a network on which replies take their time, so that operations that begin together need a connection each.
type slowNetwork struct{ net.Dialer }

type slowConn struct{ net.Conn }

func (n *slowNetwork) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := n.Dialer.DialContext(ctx, network, address)
	return slowConn{conn}, err
}

func (c slowConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	time.Sleep(20 * time.Millisecond)
	return n, err
}

// application writes, many documents at a time.
type application struct {
	collection *mongo.Collection
	written    atomic.Int64 // documents
	rejected   atomic.Int64 // attempts that failed with both labels of a retryable overload error
	closed     atomic.Int64 // connections that failed
	lost       atomic.Int64 // pools that were cleared, and times that the server was not known any more
}

func connect(t *testing.T, uri string) *application {
	a := &application{}
	opts := options.Client().ApplyURI(uri).SetDialer(&slowNetwork{}).SetMaxConnecting(connections).SetAdaptiveRetries(true)
	opts.SetMaxAdaptiveRetries(5) // as the specification of 2026-03-12
	opts.SetPoolMonitor(&event.PoolMonitor{Event: func(e *event.PoolEvent) {
		switch {
		case e.Type == event.ConnectionPoolCleared:
			a.lost.Add(1)
		case e.Type == event.ConnectionClosed && e.Reason == event.ReasonError:
			a.closed.Add(1)
		}
	}})
	opts.SetServerMonitor(&event.ServerMonitor{ServerDescriptionChanged: func(e *event.ServerDescriptionChangedEvent) {
		if e.NewDescription.Kind == "Unknown" && e.PreviousDescription.Kind != "Unknown" {
			a.lost.Add(1)
		}
	}})
	opts.SetRetryMonitor(&event.RetryMonitor{Decided: func(_ context.Context, e *event.RetryDecidedEvent) {
		var failure mongo.LabeledError
		if assert.ErrorAs(t, e.Failure, &failure) {
			assert.True(t, failure.HasErrorLabel("SystemOverloadedError") && failure.HasErrorLabel("RetryableError"), "%v", failure)
		}
		a.rejected.Add(1)
	}})
	client, err := mongo.Connect(opts)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, client.Disconnect(context.Background())) })
	require.NoError(t, client.Ping(t.Context(), nil))
	a.collection = client.Database(database).Collection(t.Name())
	return a
}

// wave does that many writes concurrently, of which none may fail.
func (a *application) wave(t *testing.T, size int) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // the backoffs of one operation add up to 6.2 seconds at most
	defer cancel()
	var running sync.WaitGroup
	for range size {
		running.Go(func() {
			_, err := a.collection.InsertOne(ctx, bson.D{})
			assert.NoError(t, err)
			a.written.Add(1)
		})
	}
	running.Wait()
}

// assertDone checks that the limit was met, that each write took place once, and that the client did not take the server for one
// that is gone.
func (a *application) assertDone(t *testing.T, admin *mongo.Client) {
	assert.Positive(t, a.rejected.Load(), "the limit was not met; a server with its limiters behind feature flags needs "+
		"--setParameter featureFlagIngressRateLimiting=true --setParameter featureFlagRateLimitIngressConnectionEstablishment=true")
	found, err := admin.Database(database).Collection(t.Name()).CountDocuments(t.Context(), bson.D{})
	require.NoError(t, err)
	assert.Equal(t, a.written.Load(), found, "acknowledged writes, and those that are there")
	assert.Zero(t, a.lost.Load(), "pools that were cleared, and times that the server was not known any more")
}

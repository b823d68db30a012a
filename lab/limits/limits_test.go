// Package limits lets an application with the fork meet a server's own limit on the rate of requests, if MONGODB_URI names one that has
// it. It uses what the fork adds to the driver, so it is a module of its own.
package limits

import (
	"context"
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
	limiter    = "ingressRequestRateLimiterEnabled"
	rate       = "ingressRequestAdmissionRatePerSec"
	burst      = "ingressRequestAdmissionBurstCapacitySecs"
	exemptions = "ingressRequestRateLimiterApplicationExemptions"
)

const (
	database      = "limits" // is dropped before and after
	administrator = "limits-administrator"
	// A rate of 50 a second with 5 saved up rejects most of a wave at first, and all of it is admitted long before an operation has
	// used up its retries, whose backoffs add up to 1.5 seconds on average.
	perSecond, saved, wave = 50, 0.1, 10
)

func TestLimitOfAServer(t *testing.T) {
	uri := os.Getenv("MONGODB_URI")
	if uri == "" {
		t.Skip("MONGODB_URI is not set; name a mongod or mongos of 8.2 or later, for tests only: while this runs, all " +
			"applications are limited")
	}
	admin := connect(t, options.Client().ApplyURI(uri).SetAppName(administrator))
	prepare(t, admin)

	// Attempts that were rejected; connections that failed, and pools that were cleared, as they are when a server becomes unknown.
	var rejected, lost atomic.Int64
	opts := options.Client().ApplyURI(uri).SetAdaptiveRetries(true).SetMaxAdaptiveRetries(5) // as the specification of 2026-03-12
	opts.SetPoolMonitor(&event.PoolMonitor{Event: func(e *event.PoolEvent) {
		if e.Type == event.ConnectionPoolCleared || e.Type == event.ConnectionClosed && e.Reason == event.ReasonError {
			lost.Add(1)
		}
	}})
	opts.SetRetryMonitor(&event.RetryMonitor{Decided: func(_ context.Context, e *event.RetryDecidedEvent) {
		var failure mongo.LabeledError
		if assert.ErrorAs(t, e.Failure, &failure) {
			assert.True(t, failure.HasErrorLabel("SystemOverloadedError"), "%v", failure)
			assert.True(t, failure.HasErrorLabel("RetryableError"), "%v", failure)
		}
		rejected.Add(1)
	}})
	written := connect(t, opts).Database(database).Collection("written")
	insertAll(t, written) // makes connections ready
	set(t, admin, bson.E{Key: limiter, Value: true})
	insertAll(t, written)
	set(t, admin, bson.E{Key: limiter, Value: false})

	assert.Positive(t, rejected.Load(), "the limit was not met; 8.2 needs --setParameter featureFlagIngressRateLimiting=true")
	assert.Zero(t, lost.Load(), "the client took the server for one that is gone")
	found, err := admin.Database(database).Collection("written").CountDocuments(t.Context(), bson.D{})
	require.NoError(t, err)
	assert.EqualValues(t, 2*wave, found, "each write took place once")
}

// connect returns a client that knows the server.
func connect(t *testing.T, opts *options.ClientOptions) *mongo.Client {
	client, err := mongo.Connect(opts)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, client.Disconnect(context.Background())) })
	require.NoError(t, client.Ping(t.Context(), nil))
	return client
}

// insertAll inserts concurrently; all succeed.
func insertAll(t *testing.T, c *mongo.Collection) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // the backoffs of one operation add up to 6.2 seconds at most
	defer cancel()
	var running sync.WaitGroup
	for range wave {
		running.Go(func() {
			_, err := c.InsertOne(ctx, bson.D{})
			assert.NoError(t, err)
		})
	}
	running.Wait()
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
	if all[limiter] == nil {
		t.Skipf("the server has no %s: it takes a mongod or mongos of 8.2 or later", limiter)
	}
	require.NoError(t, admin.Database(database).Drop(t.Context()))
	exempted, _ := all[exemptions].(bson.A) // servers that exempt none say so with null
	former := append(bson.A{}, exempted...)
	t.Cleanup(func() {
		for _, name := range []string{limiter, rate, burst} { // the limit is off before anything else is restored
			set(t, admin, bson.E{Key: name, Value: all[name]})
		}
		set(t, admin, bson.E{Key: exemptions, Value: bson.D{{Key: "appNames", Value: former}}})
		assert.NoError(t, admin.Database(database).Drop(context.Background()))
	})
	exempted = append(exempted, administrator, "MongoDB Internal Client", "NetworkInterfaceTL", "OplogFetcher")
	set(t, admin, bson.E{Key: exemptions, Value: bson.D{{Key: "appNames", Value: exempted}}})
	set(t, admin, bson.E{Key: rate, Value: perSecond})
	set(t, admin, bson.E{Key: burst, Value: saved})
}

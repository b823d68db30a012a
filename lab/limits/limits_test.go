// Package limits lets applications with the fork meet a server's own limits on the rates of requests and of new connections, if
// MONGODB_URI names one that has them. It uses what the fork adds to the driver, so it is a module of its own.
package limits

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/tools/connstring"
)

// Parameters of servers since 8.2.
const (
	limitRequests    = "ingressRequestRateLimiterEnabled"
	requestRate      = "ingressRequestAdmissionRatePerSec"
	requestBurst     = "ingressRequestAdmissionBurstCapacitySecs"
	exemptions       = "ingressRequestRateLimiterApplicationExemptions"
	limitConnections = "ingressConnectionEstablishmentRateLimiterEnabled"
	connectionRate   = "ingressConnectionEstablishmentRatePerSec"
	connectionBurst  = "ingressConnectionEstablishmentBurstCapacitySecs"
	connectionQueue  = "ingressConnectionEstablishmentMaxQueueDepth"
)

const (
	database      = "limits" // is dropped before and after
	administrator = "limits-administrator"

	// A rate of 50 a second with 5 saved up rejects most of a wave at first, and all of it is admitted long before an
	// operation has used up its retries, whose backoffs add up to 1.5 seconds on average.
	rate      = 50
	burstSecs = 0.1
	// wave is how many connections the driver makes ready at once; for more it takes its time.
	wave = 10
	// wavePause fills the bucket.
	wavePause = 200 * time.Millisecond
	// waveTime is far more than what the backoffs of one operation add up to, 6.2 seconds at most.
	waveTime = time.Minute

	// Connections are admitted by twice that rate, for each takes the time of a handshake before it is of use.
	connectingRate      = 100
	connectingBurstSecs = 0.05
	connectionWave      = 20
	// latency is more than it takes to begin a wave.
	latency = 20 * time.Millisecond

	// maxCommands is how many commands the specification of 2026-03-12 allows for one operation: one, and five retries.
	maxCommands = 6
	retries     = "maxAdaptiveRetries=5"
	// allTokens is how many a client with adaptiveRetries has at first.
	allTokens = 1000
)

func TestLimitsOfAServer(t *testing.T) {
	uri := os.Getenv("MONGODB_URI")
	if uri == "" {
		t.Skip("MONGODB_URI is not set; name a mongod or mongos of 8.2 or later, for tests only: while this runs, all " +
			"applications are limited")
	}
	meet(t, func() *options.ClientOptions {
		return options.Client().ApplyURI(connstring.With(uri, retries)).SetDialer(&slowNetwork{})
	})
}

// slowNetwork is a network on which replies take their time, so that operations that begin together need a connection each.
type slowNetwork struct{ net.Dialer }

type slowConn struct{ net.Conn }

func (n *slowNetwork) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := n.Dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return slowConn{conn}, nil
}

func (c slowConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	time.Sleep(latency)
	return n, err
}

// server is a server whose limits the test switches on and off.
type server struct {
	admin   *mongo.Client
	connect func() *options.ClientOptions
}

// meet lets applications meet the limits of a server, and gives all parameters their former values at the end.
func meet(t *testing.T, connect func() *options.ClientOptions) {
	// A single connection needs no other while connections are limited.
	admin, err := mongo.Connect(connect().SetAppName(administrator).SetMaxPoolSize(1))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, admin.Disconnect(context.Background())) })
	s := &server{admin: admin, connect: connect}
	s.prepare(t)
	require.NoError(t, admin.Database(database).Drop(t.Context()))
	s.meetRequestLimit(t)
	s.meetConnectionLimit(t)
}

func (s *server) run(ctx context.Context, command bson.D, result any) error {
	return s.admin.Database("admin").RunCommand(ctx, command).Decode(result)
}

// set sets parameters one after the other.
func (s *server) set(t *testing.T, parameters ...bson.E) {
	t.Helper()
	for _, parameter := range parameters {
		err := s.run(context.WithoutCancel(t.Context()), bson.D{{Key: "setParameter", Value: 1}, parameter}, &bson.D{})
		require.NoError(t, err, "set %v", parameter)
	}
}

func sets(name string, value any) bson.E { return bson.E{Key: name, Value: value} }

// prepare skips the test unless the server has all parameters, and exempts the administrator, without whom nobody could end the
// limit, and the other members of the server's deployment.
func (s *server) prepare(t *testing.T) {
	names := []string{ // the limits are off before anything else is restored
		limitRequests, limitConnections, requestRate, requestBurst, connectionRate, connectionBurst, connectionQueue, exemptions,
	}
	var former bson.M
	var unknown mongo.CommandError
	for _, name := range names {
		value := bson.M{}
		err := s.run(t.Context(), bson.D{{Key: "getParameter", Value: 1}, {Key: name, Value: 1}}, &value)
		// InvalidOptions, and before 7.0 an error without a code.
		if errors.As(err, &unknown) && (unknown.Code == 72 || unknown.Code == 0) {
			t.Skipf("the server has no %s: it takes a mongod or mongos of 8.2 or later", name)
		}
		require.NoError(t, err, "read the server's parameters; where users have to authenticate, name one with the role root")
		if former == nil {
			former = bson.M{}
		}
		former[name] = value[name]
	}
	exempted, _ := former[exemptions].(bson.A) // servers that exempt none say so with null
	former[exemptions] = bson.D{{Key: "appNames", Value: append(bson.A{}, exempted...)}}
	t.Cleanup(func() {
		for _, name := range names {
			s.set(t, sets(name, former[name]))
		}
		assert.NoError(t, s.admin.Database(database).Drop(context.Background()))
	})
	s.rejected(t)
	s.set(t, sets(exemptions, bson.D{{Key: "appNames", Value: append(append(bson.A{}, exempted...),
		administrator, "MongoDB Internal Client", "NetworkInterfaceTL", "OplogFetcher")}}))
}

// rejections counts what a server has rejected since it started.
type rejections struct{ requests, connections int64 }

func (s *server) rejected(t *testing.T) rejections {
	type limiter struct {
		Rejected *int64 `bson:"rejectedAdmissions"`
	}
	var status struct {
		Network struct {
			Requests limiter `bson:"ingressRequestRateLimiter"`
		} `bson:"network"`
		Queues struct {
			Connections limiter `bson:"ingressSessionEstablishment"`
		} `bson:"queues"`
	}
	require.NoError(t, s.run(context.WithoutCancel(t.Context()), bson.D{{Key: "serverStatus", Value: 1}}, &status))
	requests, connections := status.Network.Requests.Rejected, status.Queues.Connections.Rejected
	require.True(t, requests != nil && connections != nil, "the server has a limiter behind a feature flag; start it with "+
		"--setParameter featureFlagIngressRateLimiting=true --setParameter featureFlagRateLimitIngressConnectionEstablishment=true")
	return rejections{*requests, *connections}
}

// limited does something while a limit is on, and returns what was rejected meanwhile.
func (s *server) limited(t *testing.T, enabled string, do func()) rejections {
	before := s.rejected(t)
	s.set(t, sets(enabled, true))
	do()
	s.set(t, sets(enabled, false))
	now := s.rejected(t)
	return rejections{now.requests - before.requests, now.connections - before.connections}
}

// application writes and reads, many operations at a time.
type application struct {
	name   string
	client *mongo.Client

	mu           sync.Mutex
	operations   int
	acknowledged []int // numbers of the writes that succeeded
	errs         []error

	commands   map[string]int // by operation
	failures   int            // attempts that failed
	unlabelled error          // a failure without both labels

	ready, broken, cleared, lost int // connections, pools, and times that the server was not known any more
}

// newApplication connects, and returns when the server is known and as many connections are ready as the options want.
func (s *server) newApplication(t *testing.T, name string, opts *options.ClientOptions) *application {
	a := &application{name: name, commands: make(map[string]int)}
	opts.SetAppName(name)
	opts.SetMonitor(&event.CommandMonitor{Started: a.started})
	opts.SetPoolMonitor(&event.PoolMonitor{Event: a.pool})
	opts.SetServerMonitor(&event.ServerMonitor{ServerDescriptionChanged: a.described})
	opts.SetRetryMonitor(&event.RetryMonitor{Decided: a.decided})
	var err error
	a.client, err = mongo.Connect(opts)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, a.client.Disconnect(context.Background())) })
	require.NoError(t, a.client.Ping(t.Context(), nil))
	for deadline := time.Now().Add(waveTime); opts.MinPoolSize != nil; time.Sleep(10 * time.Millisecond) {
		a.mu.Lock()
		ready := a.ready
		a.mu.Unlock()
		if ready >= int(*opts.MinPoolSize) {
			break
		}
		require.True(t, time.Now().Before(deadline), "the pool is not filled")
	}
	return a
}

func (a *application) started(_ context.Context, e *event.CommandStartedEvent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if comment, ok := e.Command.Lookup("comment").StringValueOK(); ok {
		a.commands[comment]++
	}
}

func (a *application) pool(e *event.PoolEvent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case e.Type == event.ConnectionReady:
		a.ready++
	case e.Type == event.ConnectionPoolCleared:
		a.cleared++
	case e.Type == event.ConnectionClosed && e.Reason == event.ReasonError:
		a.broken++
	}
}

func (a *application) described(e *event.ServerDescriptionChangedEvent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e.NewDescription.Kind == "Unknown" && e.PreviousDescription.Kind != "Unknown" {
		a.lost++
	}
}

func (a *application) decided(_ context.Context, e *event.RetryDecidedEvent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failures++
	if a.unlabelled == nil && !isRetryableOverload(e.Failure) {
		a.unlabelled = e.Failure
	}
}

// isRetryableOverload tells whether an error has both labels.
func isRetryableOverload(err error) bool {
	var labeled mongo.LabeledError
	return errors.As(err, &labeled) && labeled.HasErrorLabel("SystemOverloadedError") && labeled.HasErrorLabel("RetryableError")
}

// wave does that many operations concurrently; every other one is a write.
func (a *application) wave(t *testing.T, size int) {
	ctx, cancel := context.WithTimeout(t.Context(), waveTime)
	defer cancel()
	var running sync.WaitGroup
	for range size {
		a.operations++
		number := a.operations
		running.Go(func() {
			err := a.operate(ctx, number)
			a.mu.Lock()
			defer a.mu.Unlock()
			if err != nil {
				a.errs = append(a.errs, err)
			} else if number%2 == 0 {
				a.acknowledged = append(a.acknowledged, number)
			}
		})
	}
	running.Wait()
}

func (a *application) operate(ctx context.Context, number int) error {
	collection := a.client.Database(database).Collection(a.name)
	comment := fmt.Sprintf("%s %d", a.name, number)
	if number%2 == 0 {
		_, err := collection.InsertOne(ctx, bson.D{{Key: "number", Value: number}}, options.InsertOne().SetComment(comment))
		return err
	}
	err := collection.FindOne(ctx, bson.D{}, options.FindOne().SetComment(comment)).Err()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil
	}
	return err
}

// assertKept checks that the client did not take the server for one that is gone.
func (a *application) assertKept(t *testing.T) {
	assert.Zero(t, a.cleared, "%s: pools that were cleared", a.name)
	assert.Zero(t, a.lost, "%s: times that the server was not known any more", a.name)
}

// assertDone checks that every operation succeeded, within its retries, and that what was acknowledged took place once.
func (a *application) assertDone(t *testing.T, s *server) {
	a.assertKept(t)
	assert.Positive(t, a.failures, "the limit was met")
	assert.NoError(t, a.unlabelled, "all failed attempts have both labels")
	assert.Empty(t, a.errs)
	assert.LessOrEqual(t, slices.Max(slices.Collect(maps.Values(a.commands))), maxCommands)
	assert.Len(t, a.commands, a.operations)
	cursor, err := s.admin.Database(database).Collection(a.name).Find(t.Context(), bson.D{})
	require.NoError(t, err)
	var docs []struct{ Number int }
	require.NoError(t, cursor.All(t.Context(), &docs))
	found := []int{}
	for _, doc := range docs {
		found = append(found, doc.Number)
	}
	assert.ElementsMatch(t, a.acknowledged, found, "acknowledged writes, and those that are there")
	t.Logf("%s: %d operations, %d failed attempts", a.name, a.operations, a.failures)
}

// meetRequestLimit lets two applications meet a limit of requests, one of them without retries.
func (s *server) meetRequestLimit(t *testing.T) {
	plain := s.newApplication(t, "without-retries", s.connect().SetRetryReads(false).SetRetryWrites(false).SetMinPoolSize(wave))
	app := s.newApplication(t, "with-retries", s.connect().SetAdaptiveRetries(true).SetMinPoolSize(wave))
	s.set(t, sets(requestRate, rate), sets(requestBurst, burstSecs))
	counted := s.limited(t, limitRequests, func() {
		for range 3 {
			plain.wave(t, wave)
		}
		for range 5 {
			time.Sleep(wavePause)
			app.wave(t, wave)
		}
	})
	assert.NotEmpty(t, plain.errs, "without retries operations fail")
	for _, err := range plain.errs {
		assert.True(t, isRetryableOverload(err), "%v", err)
	}
	for _, a := range []*application{plain, app} {
		assert.Zero(t, a.broken, "connections are kept")
		a.assertKept(t)
	}
	app.assertDone(t, s)
	assert.GreaterOrEqual(t, counted.requests, int64(app.failures+len(plain.errs)), "the server counts what the applications see")
	tokens, _ := app.client.RetryTokens()
	assert.Less(t, tokens, float64(allTokens), "retries take tokens")
}

// meetConnectionLimit lets an application that has one connection, and wants many, meet a limit of connections.
func (s *server) meetConnectionLimit(t *testing.T) {
	app := s.newApplication(t, "connecting", s.connect().SetAdaptiveRetries(true).SetMaxConnecting(connectionWave))
	s.set(t, sets(connectionRate, connectingRate), sets(connectionBurst, connectingBurstSecs), sets(connectionQueue, 0))
	counted := s.limited(t, limitConnections, func() { app.wave(t, connectionWave) })
	app.assertDone(t, s)
	assert.Positive(t, app.broken)
	assert.GreaterOrEqual(t, counted.connections, int64(app.broken), "the server counts the connections that the application lost")
	assert.Greater(t, app.ready, 1, "connections are used")
}

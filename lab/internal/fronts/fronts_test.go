package fronts

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.uber.org/goleak"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/handlertest"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/servererror"
	"mongofork/lab/internal/topology"
)

const patience = 10 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve serves until the test ends.
func serve(t testing.TB, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			require.NoError(t, err)
		case <-time.After(patience):
			require.Fail(t, "it does not end")
		}
	})
}

// startLab runs a lab before a backend that answers every command in the same way every time.
func startLab(t testing.TB, text string) *Lab {
	t.Helper()
	backend := proxy.New(proxy.Config{Answer: func(_ context.Context, req *proxy.Request) (bson.Raw, error) {
		if proxy.IsHello(req.Command) {
			return servererror.OK(bsondoc.D("isWritablePrimary", true, "setName", "backend", "hosts", bson.A{"real:1"}, "me", "real:1",
				"minWireVersion", 0, "maxWireVersion", 25, "maxBsonObjectSize", 16<<20, "maxMessageSizeBytes", 48_000_000,
				"maxWriteBatchSize", 100_000, "logicalSessionTimeoutMinutes", 30)...), nil
		}
		return servererror.OK(bsondoc.D("n", 1)...), nil
	}})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	serve(t, func(ctx context.Context) error { return backend.Serve(ctx, listener) })
	spec, err := topology.ParseSpec(text)
	require.NoError(t, err)
	l, err := Open(Config{Topology: spec, Backend: listener.Addr().String()})
	require.NoError(t, err)
	serve(t, l.Run)
	return l
}

// connect returns the collection of a client of a connection string.
func connect(t testing.TB, uri string, more ...*options.ClientOptions) *mongo.Collection {
	t.Helper()
	// On a busy machine the driver sometimes misses what the first hello said, or that a client is gone, until the next heartbeat.
	opts := options.Client().ApplyURI(uri).SetServerSelectionTimeout(patience).SetHeartbeatInterval(500 * time.Millisecond)
	client, err := mongo.Connect(append([]*options.ClientOptions{opts}, more...)...)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, client.Disconnect(ctx))
	})
	return client.Database("db").Collection("c")
}

func insert(ctx context.Context, coll *mongo.Collection) error {
	_, err := coll.InsertOne(ctx, bson.D{})
	return err
}

// admin runs a command.
func admin(t testing.TB, coll *mongo.Collection, keysAndValues ...any) error {
	return coll.Database().Client().Database("admin").RunCommand(t.Context(), bsondoc.D(keysAndValues...)).Err()
}

func TestClientsSeeTheTopology(t *testing.T) {
	for text, want := range map[string]string{"standalone": "Standalone", "sharded:2": "Mongos Mongos",
		"loadbalanced:2": "LoadBalancer"} {
		var known atomic.Value
		monitor := &event.ServerMonitor{TopologyDescriptionChanged: func(e *event.TopologyDescriptionChangedEvent) {
			var kinds []string
			for _, server := range e.NewDescription.Servers {
				kinds = append(kinds, server.Kind)
			}
			known.Store(strings.Join(kinds, " "))
		}}
		require.NoError(t, insert(t.Context(), connect(t, startLab(t, text).URIs()[0], options.Client().SetServerMonitor(monitor))))
		assert.Eventually(t, func() bool { return known.Load() == want }, patience, time.Millisecond, text)
	}
}

func TestFailPointsBelongToAFront(t *testing.T) {
	l := startLab(t, "sharded:2")
	first, second := connect(t, "mongodb://"+l.Hosts[0]), connect(t, "mongodb://"+l.Hosts[1])
	require.NoError(t, admin(t, first, "configureFailPoint", "failCommand", "mode", "alwaysOn",
		"data", bsondoc.D("failCommands", bson.A{"insert"}, "errorCode", 2)))
	assert.NoError(t, insert(t.Context(), second))
	assert.ErrorContains(t, insert(t.Context(), first), "failpoint")
}

// A client disturbs one front by another.
func TestDisturb(t *testing.T) {
	l := startLab(t, "sharded:2")
	coll, other := connect(t, "mongodb://"+l.Hosts[0]), connect(t, "mongodb://"+l.Hosts[1])
	require.NoError(t, insert(t.Context(), coll))
	require.NoError(t, admin(t, other, "labFault", "silent"))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	assert.ErrorIs(t, insert(ctx, coll), context.DeadlineExceeded)
	answered := make(chan error, 1)
	go func() { answered <- insert(t.Context(), coll) }()
	select {
	case err := <-answered:
		assert.Fail(t, "it is not silent", "%v", err)
	case <-time.After(100 * time.Millisecond):
	}
	require.NoError(t, admin(t, other, "labFault", "off"))
	assert.NoError(t, <-answered, "what waited is answered")

	var err error
	var old [2]net.Conn
	for i := range old {
		old[i], err = net.Dial("tcp", l.Hosts[0])
		require.NoError(t, err)
		defer old[i].Close()
	}
	require.NoError(t, insert(t.Context(), coll)) // so that the front has accepted the connections, too
	require.NoError(t, admin(t, other, "labFault", "reset", "member", 0))
	for _, conn := range old {
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
		_, err = conn.Read(make([]byte, 1))
		assert.ErrorIs(t, err, syscall.ECONNRESET)
	}
	assert.Eventually(t, func() bool { return insert(t.Context(), coll) == nil }, patience, time.Millisecond)

	assert.ErrorContains(t, admin(t, other, "labFault", "silent", "member", 2), "there is no member 2; they are numbered from 0 to 1")
	assert.ErrorContains(t, admin(t, other, "labFault", "silent", "member", -1), "there is no member -1")
	assert.ErrorContains(t, admin(t, other, "labFault", "kill"), `"stepDown"] with real members`)
}

// The soak and the demo take real members through the rest.
func TestMembersAreKnownAsTheirFronts(t *testing.T) {
	h := renamed(strings.NewReplacer(`"real:1"`, `"front:1"`, `"real:2"`, `"front:2"`))
	given := bsondoc.D("hosts", bson.A{"real:1", "real:2", "real:11"}, "me", "real:2", "ok", 1.0, "n", int64(2),
		"data", bson.Binary{Data: []byte("real:1")})
	for command, want := range map[string]string{
		"hello": `{"hosts":["front:1","front:2","real:11"],"me":"front:2","ok":1.0,"n":2,` +
			`"data":{"$binary":{"base64":"cmVhbDox","subType":"00"}}}`,
		"ping": `{"hosts":["real:1","real:2","real:11"],"me":"real:2","ok":1.0,"n":2,` + // only a hello names members
			`"data":{"$binary":{"base64":"cmVhbDox","subType":"00"}}}`,
	} {
		_, reply, err := handlertest.Handle(t, h, handlertest.Request(t, "admin", `{"`+command+`": 1}`), given)
		require.NoError(t, err)
		assert.Equal(t, want, reply)
	}
	unacknowledged := handlertest.Request(t, "admin", `{"hello": 1}`)
	reply, err := h(t.Context(), unacknowledged, func(context.Context, *proxy.Request) (bson.Raw, error) { return nil, nil })
	assert.NoError(t, err)
	assert.Nil(t, reply)
}

// run returns a reply, before a backend that answers {ok: 1}. It is empty where the connection ended.
func run(t testing.TB, h *failPoint, command string) string {
	t.Helper()
	passed, reply, err := handlertest.Handle(t, h.handle, handlertest.Request(t, "admin", command), bson.D{{Key: "ok", Value: 1}})
	if reply == "" {
		require.ErrorIs(t, err, proxy.ErrClose)
		require.Nil(t, passed)
	}
	return reply
}

// set configures the fail point of a new handler.
func set(t testing.TB, mode, data string) *failPoint {
	t.Helper()
	h := new(failPoint)
	require.Contains(t, run(t, h, `{"configureFailPoint": "failCommand", "mode": `+mode+`, "data": {`+data+`}}`), `"ok":1.0`)
	return h
}

const (
	passed = `{"ok":1}`
	failed = `{"ok":0.0,"errmsg":"Failing command via 'failCommand' failpoint","code":10107,"codeName":"NotWritablePrimary"}`
)

func TestModes(t *testing.T) {
	for mode, want := range map[string]string{
		`"off"`:                             ".....",
		`"alwaysOn"`:                        "XXXXX",
		`{"times": 2}`:                      "XX...",
		`{"times": 0}`:                      ".....",
		`{"times": {"$numberDouble": "1"}}`: "X....",
	} {
		h, got := set(t, mode, `"failCommands": ["ping"], "errorCode": 10107`), ""
		for range 5 {
			assert.Equal(t, passed, run(t, h, `{"hello": 1}`), "not matched, so not counted")
			got += run(t, h, `{"ping": 1}`)
		}
		assert.Equal(t, want, strings.NewReplacer(failed, "X", passed, ".").Replace(got), mode)
	}
}

func TestData(t *testing.T) {
	const ping, insert, fails = `{"ping": 1}`, `{"insert": "c", "lsid": {"id": 1}, "txnNumber": 1}`, `"errorCode": 10107, "failCommands": `
	for data, test := range map[string]struct {
		command, want string
		takes         time.Duration
	}{
		fails + `["a", "ping"]`:              {ping, failed, 0},
		fails + `["a"]`:                      {ping, passed, 0},
		fails + `[]`:                         {ping, passed, 0},
		fails + `["isMaster"]`:               {`{"hello": 1}`, passed, 0},
		fails + `["configureFailPoint"]`:     {`{"configureFailPoint": "x"}`, passed, 0},
		fails + `["ping"], "appName": "app"`: {ping, failed, 0},
		fails + `["ping"], "appName": "ap"`:  {ping, passed, 0},
		fails + `["ping"], "appName": ""`:    {ping, passed, 0},

		`"failCommands": ["ping"], "blockConnection": true, "blockTimeMS": 50`:      {ping, passed, 50 * time.Millisecond},
		fails + `["ping"], "blockConnection": true, "blockTimeMS": 70`:              {ping, failed, 70 * time.Millisecond},
		`"failCommands": ["ping"], "blockConnection": false, "blockTimeMS": 90`:     {ping, passed, 0},
		fails + `["ping"], "closeConnection": true`:                                 {ping, "", 0},
		`"failCommands": ["insert"], "errorCode": 91`:                               {insert, `"ShutdownInProgress","errorLabels":["RetryableWriteError"]}`, 0},
		`"failCommands": ["insert"], "errorCode": 91, "errorLabels": []`:            {insert, `"ShutdownInProgress"}`, 0},
		`"failCommands": ["insert"], "errorCode": 91, "errorLabels": ["a", "b"]`:    {insert, `"errorLabels":["a","b"]}`, 0},
		`"failCommands": ["insert"], "writeConcernError": {"code": 91}`:             {insert, `{"ok":1,"writeConcernError":{"code":91},"errorLabels":["RetryableWriteError"]}`, 0},
		`"failCommands": ["insert"], "writeConcernError": {}, "errorLabels": ["x"]`: {insert, `{"ok":1,"writeConcernError":{},"errorLabels":["x"]}`, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			h, start := set(t, `"alwaysOn"`, data), time.Now()
			reply := run(t, h, test.command)
			assert.Equal(t, test.want, reply[max(0, len(reply)-len(test.want)):], data)
			assert.Equal(t, test.want == "", reply == "", data)
			assert.Equal(t, test.takes, time.Since(start), data)
		})
	}
}

// A refused command changes nothing.
func TestRefused(t *testing.T) {
	for command, want := range map[string]string{
		``:                            `mode is`,
		`, "mode": "on"`:              `give \"off\"`,
		`, "mode": {}`:                `mode is {}`,
		`, "mode": {"times": -1}`:     `BadValue`,
		`, "mode": {"skip": 1}`:       `BadValue`,
		`, "mode": "off", "data": []`: `TypeMismatch`,
		`, "mode": "off", "data": {"failCommands": "a"}`: `TypeMismatch`,
	} {
		h := set(t, `"alwaysOn"`, `"failCommands": ["ping"], "errorCode": 10107`)
		assert.Contains(t, run(t, h, `{"configureFailPoint": "failCommand"`+command+`}`), want, command)
		assert.Equal(t, failed, run(t, h, `{"ping": 1}`), command)
	}
	req := handlertest.Request(t, "d", `{"configureFailPoint": "failCommand"}`)
	passed, _, err := handlertest.Handle(t, new(failPoint).handle, req, bson.D{})
	require.NoError(t, err)
	assert.NotNil(t, passed, "of another database it is the backend's")
}

package control

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.uber.org/goleak"

	"mongofork/lab/internal/answer"
	"mongofork/lab/internal/deployment"
	"mongofork/lab/internal/fault"
	"mongofork/lab/internal/members"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/topology"
	"mongofork/lab/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open returns a lab that nobody connects to, and its control. A replica set without a primary stays without one.
func open(t *testing.T, text string) (*deployment.Lab, http.Handler) {
	t.Helper()
	spec, err := topology.ParseSpec(text)
	require.NoError(t, err)
	nobody := proxy.Backend{Network: "tcp", Address: "127.0.0.1:1"}
	config := deployment.Config{Topology: spec, Options: topology.Options{ElectionDelay: time.Hour}, Backend: nobody}
	if spec.Kind == topology.Members {
		config.Members, err = members.New("rs0", "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=1", []members.Member{
			{Host: nobody.Address, Backend: nobody}, {Host: nobody.Address, Backend: nobody},
		})
		require.NoError(t, err)
	}
	l, err := deployment.Open(config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	handler, err := New(l)
	require.NoError(t, err)
	return l, handler
}

// request sends a request and returns the status and the body.
func request(handler http.Handler, method, target string, header ...string) (int, string) {
	r := httptest.NewRequest(method, target, nil)
	r.Host = "127.0.0.1:27080"
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// decoded returns the body of a request that succeeds.
func decoded[T any](t *testing.T, handler http.Handler, method, target string) T {
	t.Helper()
	code, body := request(handler, method, target)
	require.Equal(t, http.StatusOK, code, body)
	var result T
	require.NoError(t, json.Unmarshal([]byte(body), &result))
	return result
}

func TestStatus(t *testing.T) {
	l, handler := open(t, "replicaset:3")
	status := decoded[Status](t, handler, "GET", "/status")
	assert.Equal(t, "replicaset:3", status.Topology)
	assert.EqualValues(t, 1, status.Term)
	hosts := l.Hosts()
	assert.Equal(t, []topology.MemberStatus{
		{Host: hosts[0], Role: topology.RolePrimary},
		{Host: hosts[1], Role: topology.RoleSecondary},
		{Host: hosts[2], Role: topology.RoleSecondary},
	}, status.Members)
	off := fault.Fault{Kind: fault.Off}
	assert.Equal(t, []fault.Fault{off, off, off}, status.Faults)
}

func TestStepDown(t *testing.T) {
	_, handler := open(t, "replicaset:3")
	status := decoded[Status](t, handler, "POST", "/stepdown?for=10s")
	assert.Equal(t, topology.RoleSecondary, status.Members[0].Role)
	code, body := request(handler, "POST", "/stepdown")
	assert.Equal(t, http.StatusBadRequest, code)
	assert.Contains(t, body, topology.ErrNoPrimary.Error())
}

func TestFault(t *testing.T) {
	l, handler := open(t, "sharded:2")
	slow := fault.Fault{Kind: fault.Slow, Delay: 100 * time.Millisecond}
	status := decoded[Status](t, handler, "POST", "/fronts/1/fault?kind=slow&delay=100ms")
	assert.Equal(t, []fault.Fault{{Kind: fault.Off}, slow}, status.Faults)

	decoded[Status](t, handler, "POST", "/fronts/1/fault?kind=off")
	assert.Equal(t, fault.Off, l.Faults()[1].Kind)

	decoded[Status](t, handler, "POST", "/fronts/0/fault?kind=silent&for=20ms")
	assert.Eventually(t, func() bool { return l.Faults()[0].Kind == fault.Off }, 10*time.Second, time.Millisecond,
		"it ends by itself")
}

func TestRefusals(t *testing.T) {
	for name, test := range map[string]struct {
		topology, method, target string
		header                   []string
		code                     int
		want                     string
	}{
		"no such front":          {"sharded:2", "POST", "/fronts/2/fault?kind=silent", nil, 404, "numbered from 0 to 1"},
		"no number of a front":   {"sharded:2", "POST", "/fronts/x/fault?kind=silent", nil, 400, "not a number"},
		"no kind":                {"sharded:2", "POST", "/fronts/0/fault", nil, 400, "unknown"},
		"unknown kind":           {"sharded:2", "POST", "/fronts/0/fault?kind=loud", nil, 400, "unknown"},
		"no delay":               {"sharded:2", "POST", "/fronts/0/fault?kind=slow", nil, 400, "give a delay"},
		"a delay without unit":   {"sharded:2", "POST", "/fronts/0/fault?kind=slow&delay=5", nil, 400, "give a time such as"},
		"time below 0":           {"sharded:2", "POST", "/fronts/0/fault?kind=silent&for=-1s", nil, 400, "give a time such as"},
		"step-down for nonsense": {"replicaset:2", "POST", "/stepdown?for=long", nil, 400, "give a time such as"},
		"step-down of routers":   {"sharded:2", "POST", "/stepdown", nil, 400, "only a replica set"},
		"a process of no member": {"replicaset:2", "POST", "/members/0/kill", nil, 400, "--topology members"},
		"a partition of none":    {"replicaset:2", "POST", "/partition?members=0", nil, 400, "--topology members"},
		"a link of none":         {"replicaset:2", "POST", "/links/0/1/fault?kind=silent", nil, 400, "--topology members"},
		"somebody else's member": {"members:2", "POST", "/members/0/kill", nil, 400, "--mongod"},
		"somebody else's links":  {"members:2", "POST", "/links/0/1/fault?kind=silent", nil, 400, "--mongod"},
		"somebody else's set":    {"members:2", "POST", "/partition?members=0", nil, 400, "--mongod"},
		"unknown to a member":    {"members:2", "POST", "/members/0/stop", nil, 400, "is unknown"},
		"no number of a member":  {"members:2", "POST", "/members/x/kill", nil, 400, "not a number"},
		"no numbers of members":  {"members:2", "POST", "/partition?members=0,x", nil, 400, "give numbers such as 0,2"},
		"no number of a link":    {"members:2", "POST", "/links/0/x/fault?kind=silent", nil, 400, "not a number"},
		"nobody steps down":      {"members:2", "POST", "/stepdown", nil, 400, "step down"},
		"reading what acts":      {"replicaset:2", "GET", "/stepdown", nil, 405, ""},
		"unknown":                {"replicaset:2", "GET", "/nothing", nil, 404, ""},
		"from a web page": {
			"replicaset:2", "POST", "/stepdown", []string{"Sec-Fetch-Site", "cross-site"}, 403, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, handler := open(t, test.topology)
			before := statusOf(l)
			code, body := request(handler, test.method, test.target, test.header...)
			assert.Equal(t, test.code, code)
			assert.Contains(t, body, test.want)
			assert.Equal(t, before, statusOf(l), "nothing is changed")
		})
	}
}

func TestCounts(t *testing.T) {
	l, handler := open(t, "standalone")
	_, body := request(handler, "GET", "/counts")
	assert.JSONEq(t, "[]", body, "before the first request")

	doc, err := bson.Marshal(bson.D{{Key: "find", Value: "c"}, {Key: "$db", Value: "d"}})
	require.NoError(t, err)
	req, err := proxy.NewRequest(&proxy.Client{}, &wire.Message{Content: &wire.Msg{Body: doc}})
	require.NoError(t, err)
	reply := func(*wire.Message) error { return nil }
	require.NoError(t, l.Metrics().Handler(0).Handle(t.Context(), req, reply,
		func(_ context.Context, req *proxy.Request, reply proxy.ReplyFunc) error { return answer.OK(req, reply) }))

	counts := decoded[[]map[string]any](t, handler, "GET", "/counts")
	require.Len(t, counts, 1)
	assert.Equal(t, "find", counts[0]["command"])
	assert.EqualValues(t, 1, counts[0]["received"])
	assert.EqualValues(t, 1, counts[0]["admitted"])

	code, body := request(handler, "GET", "/metrics")
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, body, `lab_requests_total{command="find",front="`+l.Hosts()[0]+`"} 1`)
}

// TestHost is about DNS rebinding: the page of another machine, whose name leads to this one, reads and acts with the name that it
// has.
func TestHost(t *testing.T) {
	_, handler := open(t, "standalone")
	hosts := map[string]bool{
		"127.0.0.1:27080": true, "127.0.0.1": true, "127.8.9.1:1": true, "localhost:27080": true, "LocalHost": true,
		"[::1]:27080": true, "[::1]": true, "::1": true, "[::ffff:127.0.0.1]:1": true,
		"attacker.example": false, "attacker.example:27080": false, "localhost.attacker.example": false,
		"127.0.0.1.attacker.example:80": false, "localhost.": false, "": false, ":27080": false, "10.0.0.1": false,
		"[::1].attacker.example": false, "localhost:1:2": false, "attacker.example@127.0.0.1": false,
	}
	for host, ok := range hosts {
		for method, target := range map[string]string{
			http.MethodGet: "/status", http.MethodPost: "/fronts/0/fault?kind=off",
		} {
			r := httptest.NewRequest(method, target, nil)
			r.Host = host
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if ok {
				assert.Equal(t, http.StatusOK, w.Code, "%s of %q: %s", method, host, w.Body)
				continue
			}
			assert.Equal(t, http.StatusForbidden, w.Code, "%s of %q", method, host)
			assert.Contains(t, w.Body.String(), "ask for 127.0.0.1 or localhost")
		}
	}
}

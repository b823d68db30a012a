package overload

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

func document(t testing.TB, extJSON string) bson.D {
	t.Helper()
	var doc bson.D
	require.NoError(t, bson.UnmarshalExtJSON([]byte(extJSON), false, &doc))
	return doc
}

func request(t testing.TB, db, extJSON string) *proxy.Request {
	t.Helper()
	raw, err := bson.Marshal(append(document(t, extJSON), bson.E{Key: "$db", Value: db}))
	require.NoError(t, err)
	req, err := proxy.NewRequest(&proxy.Client{AppName: "control-room", DriverName: "mongo-go-driver"}, &wire.Message{Body: raw})
	require.NoError(t, err)
	return req
}

const served = `{"ok":1,"served":true}`

// run returns the reply of a handler before a backend that serves everything.
func run(t testing.TB, handler proxy.Handler, db, command string) string {
	t.Helper()
	return runBefore(t, served, handler, db, command)
}

// runBefore returns the reply of a handler before a backend that replies that.
func runBefore(t testing.TB, backend string, handler proxy.Handler, db, command string) string {
	t.Helper()
	var got bson.D
	require.NoError(t, handler.Handle(t.Context(), request(t, db, command), func(m *wire.Message) error {
		return bson.Unmarshal(m.Body, &got)
	}, func(_ context.Context, req *proxy.Request, reply proxy.ReplyFunc) error {
		raw, err := bson.Marshal(document(t, backend))
		require.NoError(t, err)
		return reply(req.Answer(raw))
	}))
	text, err := bson.MarshalExtJSON(got, false, false)
	require.NoError(t, err)
	return string(text)
}

// one admits one request, and another after a second.
var one = Limit{Enabled: true, RatePerSec: 1, BurstCapacitySecs: 1}

// limited returns a front that has admitted its one request of a second.
func limited(t testing.TB) *Front {
	t.Helper()
	f := NewFront()
	require.NoError(t, f.Requests.SetLimit(one))
	assert.Equal(t, served, run(t, f, "d", `{"find": "c"}`))
	return f
}

func counts(l *Limiter) Counts {
	counted, _ := l.status()
	return counted
}

func TestRejection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := limited(t)
		assert.Contains(t, run(t, f, "d", `{"find": "c"}`), `"code":462,"codeName":"IngressRequestRateLimitExceeded",`+
			`"errorLabels":["SystemOverloadedError","RetryableError","NoWritesPerformed"]}`)
		assert.Equal(t, Counts{Attempted: 2, Admitted: 1, Rejected: 1}, counts(f.Requests))
		time.Sleep(time.Second)
		assert.Equal(t, served, run(t, f, "d", `{"find": "c"}`))
	})
}

func TestExemptions(t *testing.T) {
	for command, exempt := range map[string]bool{
		"hello": true, "isMaster": true, "ismaster": true, "saslStart": true, "saslContinue": true,
		"setParameter": true, "getParameter": true, "configureFailPoint": true,
		"ping": false, "find": false, "commitTransaction": false, "abortTransaction": false, "endSessions": false, "killCursors": false,
	} {
		f := limited(t)
		assert.Equal(t, exempt, run(t, f, "admin", `{"`+command+`": 1}`) == served, command)
		assert.Equal(t, exempt, counts(f.Requests).Exempted == 1, command)
	}
	for prefix, exempt := range map[string]bool{
		"control": true, "control-room": true, "control-room-2": false, "room": false, "mongo-go": true, "go-driver": false,
	} {
		f := limited(t)
		run(t, f, "admin", `{"setParameter": 1, "ingressRequestRateLimiterApplicationExemptions": {"appNames": ["other", "`+prefix+`"]}}`)
		assert.Equal(t, exempt, run(t, f, "d", `{"find": "c"}`) == served, prefix)
	}
}

func TestConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFront()
		require.NoError(t, f.Connections.SetLimit(one))
		assert.NoError(t, f.Accept(t.Context(), nil))
		assert.ErrorIs(t, f.Accept(t.Context(), nil), proxy.ErrClose)
		assert.Equal(t, Counts{Attempted: 2, Admitted: 1, Rejected: 1}, counts(f.Connections))
		queued := one
		queued.MaxQueueDepth = 1
		require.NoError(t, f.Connections.SetLimit(queued))
		start := time.Now()
		assert.NoError(t, f.Accept(t.Context(), nil))
		assert.Equal(t, time.Second, time.Since(start))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		assert.ErrorIs(t, f.Accept(ctx, nil), context.Canceled)
	})
}

// These are the commands that switch the real server's limits on and off.
func TestSetAndGetParameters(t *testing.T) {
	f := NewFront()
	for _, step := range []struct{ command, want string }{
		{`{"getParameter": 1, "ingressRequestRateLimiterEnabled": 1, "ingressRequestAdmissionRatePerSec": 1}`,
			`{"ingressRequestRateLimiterEnabled":false,"ingressRequestAdmissionRatePerSec":2147483647,"ok":1.0}`},
		{`{"setParameter": 1, "ingressRequestRateLimiterApplicationExemptions": {"appNames": ["ctl"]}, "ingressRequestAdmissionRatePerSec": 2000,
			"ingressRequestAdmissionBurstCapacitySecs": 0.1, "ingressRequestRateLimiterEnabled": true, "comment": "x"}`,
			`{"was":null,"ok":1.0}`},
		{`{"setParameter": 1, "ingressRequestAdmissionMaxQueueDepth": {"$numberLong": "7"}}`, `{"was":0,"ok":1.0}`},
		{`{"setParameter": 1, "ingressRequestAdmissionRatePerSec": 1000.0}`, `{"was":2000,"ok":1.0}`},
		{`{"getParameter": 1, "ingressRequestAdmissionBurstCapacitySecs": 1}`, `{"ingressRequestAdmissionBurstCapacitySecs":0.1,"ok":1.0}`},
		{`{"setParameter": 1, "ingressRequestRateLimiterEnabled": 0}`, `{"was":true,"ok":1.0}`},
		{`{"getParameter": 1, "ingressRequestRateLimiterApplicationExemptions": 1}`,
			`{"ingressRequestRateLimiterApplicationExemptions":["ctl"],"ok":1.0}`},
		{`{"setParameter": 1, "ingressConnectionEstablishmentRateLimiterEnabled": true, "ingressConnectionEstablishmentRatePerSec": 20,
			"ingressConnectionEstablishmentBurstCapacitySecs": 1, "ingressConnectionEstablishmentMaxQueueDepth": 1}`, `{"was":false,"ok":1.0}`},
	} {
		assert.Equal(t, step.want, run(t, f, "admin", step.command), step.command)
	}
	assert.Equal(t, Limit{RatePerSec: 1000, BurstCapacitySecs: 0.1, MaxQueueDepth: 7}, f.Requests.Limit())
	assert.Equal(t, Limit{Enabled: true, RatePerSec: 20, BurstCapacitySecs: 1, MaxQueueDepth: 1}, f.Connections.Limit())
}

func TestOtherParametersAreTheBackends(t *testing.T) {
	f := NewFront()
	assert.Equal(t, served, run(t, f, "admin", `{"setParameter": 1, "transactionLifetimeLimitSeconds": 3}`))
	assert.Equal(t, served, run(t, f, "admin", `{"getParameter": "*"}`))
	assert.Equal(t, served, run(t, f, "d", `{"getParameter": 1, "ingressRequestRateLimiterEnabled": 1}`), "which refuses it")
	for _, command := range []string{"setParameter", "getParameter"} {
		reply := run(t, f, "admin", `{"`+command+`": 1, "ingressRequestRateLimiterEnabled": true, "logLevel": 1}`)
		assert.Contains(t, reply, "ingressRequestRateLimiterEnabled belongs to the lab and logLevel to the server behind it")
		assert.Contains(t, reply, `"ok":0.0`)
	}
	assert.False(t, f.Requests.Limit().Enabled)
}

func TestRefusedParametersChangeNothing(t *testing.T) {
	for parameter, want := range map[string]string{
		`"ingressRequestRateLimiterEnabled": "yes"`:                            `give true or false","code":2,"codeName":"BadValue"`,
		`"ingressRequestAdmissionRatePerSec": 0`:                               `give at least 1`,
		`"ingressRequestAdmissionRatePerSec": 2147483648`:                      `give a whole number from 0 to 2147483647`,
		`"ingressRequestAdmissionRatePerSec": 1.5`:                             `give a whole number`,
		`"ingressRequestAdmissionRatePerSec": "1"`:                             `give a whole number`,
		`"ingressRequestAdmissionBurstCapacitySecs": 0`:                        `give more than 0`,
		`"ingressRequestAdmissionBurstCapacitySecs": {"$numberDouble": "NaN"}`: `give more than 0`,
		`"ingressRequestAdmissionBurstCapacitySecs": true`:                     `give a number`,
		`"ingressRequestAdmissionMaxQueueDepth": -1`:                           `give a whole number`,
		`"ingressConnectionEstablishmentRatePerSec": -1`:                       `give a whole number`,
		`"ingressRequestRateLimiterApplicationExemptions": ["a"]`:              `give {appNames: [name, ...]}`,
		`"ingressRequestRateLimiterApplicationExemptions": {}`:                 `give {appNames`,
		`"ingressRequestRateLimiterApplicationExemptions": {"appNames": [1]}`:  `give {appNames`,
	} {
		f := NewFront()
		reply := run(t, f, "admin", `{"setParameter": 1, "ingressConnectionEstablishmentMaxQueueDepth": 5, `+parameter+`}`)
		assert.Contains(t, reply, want, parameter)
		assert.Contains(t, reply, `"ok":0.0`, parameter)
		assert.Equal(t, Unlimited(), f.Requests.Limit(), parameter)
		assert.Equal(t, Unlimited(), f.Connections.Limit(), parameter)
		assert.Nil(t, f.exempted(), parameter)
	}
}

func TestDocumentationHasAllParameters(t *testing.T) {
	const path = "../../../docs/lab.md"
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, parameter := range (&settings{}).parameters() {
		assert.Contains(t, string(text), "| `"+parameter.name+"` |", path)
	}
}

func TestServerStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := limited(t)
		require.NoError(t, f.Connections.SetLimit(one))
		for range 2 {
			_ = f.Accept(t.Context(), nil)
		}
		time.Sleep(time.Second)
		network := `{"bytesIn":5,"ingressRequestRateLimiter":{"rejectedAdmissions":0,"exemptedAdmissions":0,"successfulAdmissions":2,` +
			`"attemptedAdmissions":2,"totalAvailableTokens":0.0}}`
		queues := `{"ingressSessionEstablishment":{"rejectedAdmissions":1,"exemptedAdmissions":0,"successfulAdmissions":1,` +
			`"attemptedAdmissions":2,"totalAvailableTokens":1.0}}`
		rejected := `{"current":1,"establishmentRateLimit":{"rejected":1,"exempted":0}}`
		const backend = `{"connections":{"current":1},"network":{"bytesIn":5},"ok":1.0}`
		assert.Equal(t, `{"connections":`+rejected+`,"network":`+network+`,"ok":1.0,"queues":`+queues+`}`,
			runBefore(t, backend, f, "admin", `{"serverStatus": 1}`))
		time.Sleep(time.Second)
		assert.Equal(t, `{"connections":`+rejected+`,"ok":1.0,"queues":`+queues+`}`,
			runBefore(t, `{"connections":{"current":1},"ok":1.0}`, f, "admin", `{"serverStatus": 1, "network": 0}`), "network was not asked for")
	})
	f := NewFront()
	assert.Equal(t, `{"ok":0.0,"code":13}`, runBefore(t, `{"ok":0.0,"code":13}`, f, "admin", `{"serverStatus": 1}`))
	assert.Contains(t, run(t, f, "admin", `{"serverStatus": 1}`), `"totalAvailableTokens":9.223372036854776E+18`, "no infinity")
}

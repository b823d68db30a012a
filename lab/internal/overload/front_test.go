package overload

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/handlertest"
	"mongofork/lab/internal/proxy"
)

func request(t testing.TB, db, command string) *proxy.Request {
	return handlertest.Request(t, db, command)
}

const served = `{"ok":1,"served":true}`

// run returns the reply of a handler before a backend that serves everything.
func run(t testing.TB, handler proxy.Handler, db, command string) string {
	t.Helper()
	_, got, err := handlertest.Handle(t, handler, request(t, db, command), bson.D{{Key: "ok", Value: 1}, {Key: "served", Value: true}})
	require.NoError(t, err)
	return got
}

// one admits one request, and another after a second.
var one = Limit{Enabled: true, RatePerSec: 1, BurstCapacitySecs: 1}

// limited returns a front that has admitted its one request of a second.
func limited(t testing.TB) *Front {
	t.Helper()
	f := NewFront()
	f.Requests.SetLimit(one)
	assert.Equal(t, served, run(t, f.Handle, "d", `{"find": "c"}`))
	return f
}

func TestRejection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := limited(t)
		assert.Contains(t, run(t, f.Handle, "d", `{"find": "c"}`), `"code":462,"codeName":"IngressRequestRateLimitExceeded",`+
			`"errorLabels":["SystemOverloadedError","RetryableError","NoWritesPerformed"]}`)
		time.Sleep(time.Second)
		assert.Equal(t, served, run(t, f.Handle, "d", `{"find": "c"}`))
	})
}

func TestExemptions(t *testing.T) {
	for command, exempt := range map[string]bool{
		"hello": true, "isMaster": true, "ismaster": true, "saslStart": true, "saslContinue": true,
		"setParameter": true, "configureFailPoint": true,
		"ping": false, "find": false, "commitTransaction": false, "abortTransaction": false, "endSessions": false,
		"killCursors": false,
	} {
		f := limited(t)
		assert.Equal(t, exempt, run(t, f.Handle, "admin", `{"`+command+`": 1}`) == served, command)
	}
}

func TestConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFront()
		f.Connections.SetLimit(one)
		assert.NoError(t, f.Accept(t.Context()))
		assert.ErrorIs(t, f.Accept(t.Context()), proxy.ErrClose)
		time.Sleep(time.Second)
		assert.NoError(t, f.Accept(t.Context()))
	})
}

func TestParameters(t *testing.T) {
	f := NewFront()
	for _, command := range []string{
		`{"setParameter": 1, "ingressRequestAdmissionRatePerSec": 2000,
			"ingressRequestAdmissionBurstCapacitySecs": 0.1, "ingressRequestRateLimiterEnabled": true, "comment": "x"}`,
		`{"setParameter": 1, "ingressRequestAdmissionRatePerSec": 1000.0}`,
	} {
		assert.Equal(t, `{"ok":1.0}`, run(t, f.Handle, "admin", command), command)
	}
	want := Limit{Enabled: true, RatePerSec: 1000, BurstCapacitySecs: 0.1}
	assert.Equal(t, want, f.Requests.Limit())
	assert.Equal(t, served, run(t, f.Handle, "admin", `{"setParameter": 1, "transactionLifetimeLimitSeconds": 3}`), "it is the backend's")
	for _, parameter := range []string{
		`"ingressRequestRateLimiterEnabled": "yes"`, `"ingressRequestAdmissionRatePerSec": 0`,
		`"ingressRequestAdmissionRatePerSec": 1.5`,
		`"ingressRequestAdmissionBurstCapacitySecs": {"$numberDouble": "NaN"}`,
		`"ingressRequestAdmissionBurstCapacitySecs": 0.0`,
	} {
		reply := run(t, f.Handle, "admin", `{"setParameter": 1, "ingressRequestRateLimiterEnabled": false, `+parameter+`}`)
		assert.Contains(t, reply, `"codeName":"BadValue"`, parameter)
		assert.Equal(t, want, f.Requests.Limit(), parameter)
	}
}

// The parameters can be read, without the server behind, which may not have them.
func TestGetParameter(t *testing.T) {
	f := NewFront()
	f.Requests.SetLimit(Limit{Enabled: true, RatePerSec: 7, BurstCapacitySecs: 2})
	reply, err := f.getParameter(func(name string) bool { return name != "ingressRequestRateLimiterEnabled" })
	require.NoError(t, err)
	var got bson.D
	require.NoError(t, bson.Unmarshal(reply, &got))
	assert.Equal(t, bson.D{{Key: "ingressRequestAdmissionRatePerSec", Value: int32(7)},
		{Key: "ingressRequestAdmissionBurstCapacitySecs", Value: 2.0}, {Key: "ok", Value: 1.0}}, got)
}

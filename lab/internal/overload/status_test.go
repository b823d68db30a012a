package overload

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

// status returns what a front answers to serverStatus whose backend answers that.
func status(t *testing.T, handler proxy.Handler, command, backend string) string {
	t.Helper()
	var got bson.D
	next := func(_ context.Context, req *proxy.Request, reply proxy.ReplyFunc) error {
		var doc bson.D
		require.NoError(t, bson.UnmarshalExtJSON([]byte(backend), false, &doc))
		raw, err := bson.Marshal(doc)
		require.NoError(t, err)
		return reply(req.Answer(raw))
	}
	require.NoError(t, handler.Handle(t.Context(), request(t, "admin", command), func(m *wire.Message) error {
		return bson.Unmarshal(m.Document(), &got)
	}, next))
	text, err := bson.MarshalExtJSON(got, false, false)
	require.NoError(t, err)
	return string(text)
}

func TestServerStatus(t *testing.T) {
	requests, err := NewRequestLimiter(RequestLimiterConfig{Clock: stopped{}, Limit: Limit{Enabled: true, RatePerSec: 2, BurstCapacitySecs: 1}})
	require.NoError(t, err)
	connections, err := NewConnectionLimiter(stopped{}, one)
	require.NoError(t, err)
	for range 2 {
		_ = connections.Accept(t.Context(), nil)
	}
	run(t, requests, "d", `{"find": "c"}`)
	run(t, requests, "d", `{"hello": 1}`)
	s := NewStatus(requests, connections)

	network := `{"bytesIn":5,"ingressRequestRateLimiter":{"rejectedAdmissions":0,"exemptedAdmissions":1,"successfulAdmissions":1,` +
		`"attemptedAdmissions":1,"totalAvailableTokens":1.0}}`
	queues := `{"ingressSessionEstablishment":{"addedToQueue":0,"removedFromQueue":0,"interruptedInQueue":0,"rejectedAdmissions":1,` +
		`"exemptedAdmissions":0,"successfulAdmissions":1,"attemptedAdmissions":2,"totalAvailableTokens":0.0}}`
	rejected := `{"current":1,"establishmentRateLimit":{"rejected":1,"exempted":0,"interruptedDueToClientDisconnect":0}}`
	const backend = `{"connections":{"current":1},"network":{"bytesIn":5},"ok":1.0}`
	assert.Equal(t, `{"connections":`+rejected+`,"network":`+network+`,"ok":1.0,"queues":`+queues+`}`,
		status(t, s, `{"serverStatus": 1}`, backend))
	assert.Equal(t, `{"connections":`+rejected+`,"ok":1.0,"queues":`+queues+`}`,
		status(t, s, `{"serverStatus": 1, "network": 0}`, `{"connections":{"current":1},"ok":1.0}`), "network was not asked for")
	assert.Equal(t, `{"ok":0.0,"code":13}`, status(t, s, `{"serverStatus": 1}`, `{"ok":0.0,"code":13}`))
	assert.Equal(t, backend, status(t, s, `{"ping": 1}`, backend))
}

func TestServerStatusHasNoInfinity(t *testing.T) {
	s := NewStatus(requestLimiter(t, RequestLimiterConfig{Limit: Unlimited()}), newTestParameters(t).connections)
	assert.Contains(t, status(t, s, `{"serverStatus": 1}`, `{"ok":1.0}`), `"totalAvailableTokens":9.223372036854776E+18`)
}

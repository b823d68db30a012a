package overload

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

func request(t testing.TB, db, extJSON string) *proxy.Request {
	t.Helper()
	var doc bson.D
	require.NoError(t, bson.UnmarshalExtJSON([]byte(extJSON), false, &doc))
	raw, err := bson.Marshal(append(doc, bson.E{Key: "$db", Value: db}))
	require.NoError(t, err)
	req, err := proxy.NewRequest(&proxy.Client{AppName: "control-room", DriverName: "mongo-go-driver"}, &wire.Message{Content: &wire.Msg{Body: raw}})
	require.NoError(t, err)
	return req
}

const served = `{"ok":1,"served":true}`

// run returns the reply of a handler before a backend that serves everything.
func run(t testing.TB, handler proxy.Handler, db, command string) string {
	t.Helper()
	var got bson.D
	next := func(_ context.Context, req *proxy.Request, reply proxy.ReplyFunc) error {
		raw, err := bson.Marshal(bson.D{{Key: "ok", Value: 1}, {Key: "served", Value: true}})
		require.NoError(t, err)
		return reply(req.Answer(raw))
	}
	require.NoError(t, handler.Handle(t.Context(), request(t, db, command), func(m *wire.Message) error {
		return bson.Unmarshal(m.Document(), &got)
	}, next))
	text, err := bson.MarshalExtJSON(got, false, false)
	require.NoError(t, err)
	return string(text)
}

func requestLimiter(t testing.TB, config RequestLimiterConfig) *RequestLimiter {
	t.Helper()
	config.Clock = clock.System{}
	l, err := NewRequestLimiter(config)
	require.NoError(t, err)
	return l
}

// one admits one request, and another after a second.
var one = Limit{Enabled: true, RatePerSec: 1, BurstCapacitySecs: 1}

func TestRejections(t *testing.T) {
	for rejection, want := range map[Rejection]string{
		"":                   `"code":462,"codeName":"IngressRequestRateLimitExceeded","errorLabels":["SystemOverloadedError","RetryableError","NoWritesPerformed"]}`,
		RequestRate:          `"code":462,"codeName":"IngressRequestRateLimitExceeded","errorLabels":["SystemOverloadedError","RetryableError","NoWritesPerformed"]}`,
		RequestRateBefore826: `"code":462,"codeName":"IngressRequestRateLimitExceeded","errorLabels":["SystemOverloadedError","RetryableError"]}`,
		OperationRate:        `"code":463,"codeName":"IngressOperationRateLimitExceeded","errorLabels":["SystemOverloadedError","RetryableError","NoWritesPerformed"]}`,
		Interrupted:          `"code":473,"codeName":"InterruptedDueToOverload","errorLabels":["SystemOverloadedError"]}`,
	} {
		t.Run(string(rejection), func(t *testing.T) {
			l := requestLimiter(t, RequestLimiterConfig{Limit: one, Rejection: rejection})
			assert.Equal(t, served, run(t, l, "d", `{"find": "c"}`))
			assert.Contains(t, run(t, l, "d", `{"find": "c"}`), want)
			assert.Equal(t, Counts{Attempted: 2, Admitted: 1, Rejected: 1}, l.Counts())
		})
	}
	_, err := NewRequestLimiter(RequestLimiterConfig{Clock: clock.System{}, Limit: one, Rejection: "x"})
	assert.ErrorContains(t, err, `the rejection "x" is unknown; give "IngressRequestRateLimitExceeded", `)
	_, err = NewRequestLimiter(RequestLimiterConfig{Limit: one})
	assert.ErrorContains(t, err, "needs a clock")
	_, err = NewRequestLimiter(RequestLimiterConfig{Clock: clock.System{}})
	assert.ErrorContains(t, err, "a rate of 0")
	assert.Nil(t, Rejection("x").Error())
}

func TestExemptions(t *testing.T) {
	for command, exempt := range map[string]bool{
		"hello": true, "isMaster": true, "ismaster": true, "saslStart": true, "saslContinue": true,
		"setParameter": true, "getParameter": true, "configureFailPoint": true,
		"ping": false, "find": false, "commitTransaction": false, "abortTransaction": false, "endSessions": false, "killCursors": false,
	} {
		l := requestLimiter(t, RequestLimiterConfig{Limit: one})
		assert.Equal(t, served, run(t, l, "d", `{"find": "c"}`))
		assert.Equal(t, exempt, run(t, l, "admin", `{"`+command+`": 1}`) == served, command)
		assert.Equal(t, exempt, l.Counts().Exempted == 1, command)
	}
}

func TestExemptApplications(t *testing.T) {
	for prefix, exempt := range map[string]bool{
		"control": true, "control-room": true, "control-room-2": false, "room": false, "mongo-go": true, "go-driver": false,
	} {
		l := requestLimiter(t, RequestLimiterConfig{Limit: one})
		l.SetExemptApplications([]string{"other", prefix})
		for range 3 {
			run(t, l, "d", `{"find": "c"}`)
		}
		assert.Equal(t, exempt, l.Counts().Exempted == 3, prefix)
	}
}

func TestConnectionLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := NewConnectionLimiter(clock.System{}, one)
		require.NoError(t, err)
		assert.NoError(t, l.Accept(t.Context(), nil))
		assert.ErrorIs(t, l.Accept(t.Context(), nil), proxy.ErrClose)
		assert.Equal(t, Counts{Attempted: 2, Admitted: 1, Rejected: 1}, l.Counts())

		queued := one
		queued.MaxQueueDepth = 1
		require.NoError(t, l.SetLimit(queued))
		assert.Equal(t, queued, l.Limit())
		assert.NoError(t, l.Accept(t.Context(), nil))
		start := time.Now()
		assert.NoError(t, l.Accept(t.Context(), nil))
		assert.Equal(t, time.Second, time.Since(start))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		assert.ErrorIs(t, l.Accept(ctx, nil), context.Canceled)
	})
	_, err := NewConnectionLimiter(nil, one)
	assert.ErrorContains(t, err, "needs a clock")
}

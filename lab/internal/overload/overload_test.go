package overload

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/handlertest"
	"mongofork/lab/internal/proxy"
)

// The tests of time run in bubbles of testing/synctest, in which waiting is exact and takes none.

const served, find = `{"ok":1}`, `{"find": "c"}`

// ask returns a front's reply, before a backend that serves everything.
func ask(t testing.TB, f *Front, command string) string {
	t.Helper()
	_, got, err := handlertest.Handle(t, f.Handle, handlertest.Request(t, "admin", command), bson.D{{Key: "ok", Value: 1}})
	require.NoError(t, err)
	return got
}

// admitted asks n times, one after the other, and returns how often that was granted.
func admitted(t testing.TB, l *Limiter, n int) (granted int) {
	t.Helper()
	for range n {
		if err := l.admit(); err == nil {
			granted++
		} else {
			require.ErrorIs(t, err, errRejected)
		}
	}
	return granted
}

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter()
		assert.Equal(t, 100, admitted(t, l, 100), "it is off")
		l.SetLimit(Limit{Enabled: true, RatePerSec: Unlimited().RatePerSec, BurstCapacitySecs: Unlimited().BurstCapacitySecs})
		assert.Equal(t, 10_000, admitted(t, l, 10_000), "it has no bound")
		for _, step := range []struct {
			rate        int32
			burst       float64
			after       time.Duration
			want, of    int
			explanation string
		}{
			{10, 0.5, 0, 5, 20, "the bucket is full"},
			{10, 0.5, 99 * time.Millisecond, 0, 1, "too early"},
			{10, 0.5, time.Millisecond, 1, 2, "refilled"},
			{10, 0.5, time.Hour, 5, 20, "no more is saved up than the burst"},
			{20, 1, 0, 0, 1, "another limit fills no bucket"},
			{20, 1, time.Hour, 20, 30, "refilled"},
			{20, 1, time.Hour, 0, 0, "refilled"},
			{20, 0.5, 0, 10, 30, "there is no room for more"},
			{1, 1e-9, time.Second, 1, 2, "there is room for one at least"},
		} {
			time.Sleep(step.after)
			l.SetLimit(Limit{Enabled: true, RatePerSec: step.rate, BurstCapacitySecs: step.burst})
			assert.Equal(t, step.want, admitted(t, l, step.of), step.explanation)
		}
	})
}

// limited returns a front that admits a request and a connection per second.
func limited() *Front {
	f, one := NewFront(), Limit{Enabled: true, RatePerSec: 1, BurstCapacitySecs: 1}
	f.Requests.SetLimit(one)
	f.Connections.SetLimit(one)
	return f
}

func TestRejection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := limited()
		for range 2 {
			assert.NoError(t, f.Accept(t.Context()))
			assert.ErrorIs(t, f.Accept(t.Context()), proxy.ErrClose)
			assert.Equal(t, served, ask(t, f, find))
			assert.Contains(t, ask(t, f, find), `"code":462,"codeName":"IngressRequestRateLimitExceeded",`+
				`"errorLabels":["SystemOverloadedError","RetryableError","NoWritesPerformed"]}`)
			time.Sleep(time.Second)
		}
	})
	for command, exempt := range map[string]bool{"hello": true, "isMaster": true, "ismaster": true, "saslStart": true,
		"saslContinue": true, "setParameter": true, "getParameter": true, "configureFailPoint": true, "ping": false, "find": false,
		"commitTransaction": false, "abortTransaction": false, "endSessions": false, "killCursors": false} {
		f := limited()
		ask(t, f, find)
		assert.Equal(t, exempt, ask(t, f, `{"`+command+`": 1}`) == served, command)
	}
}

func TestParameters(t *testing.T) {
	f := NewFront()
	for _, parameters := range []string{
		`"ingressRequestAdmissionRatePerSec": 2000, "ingressRequestAdmissionBurstCapacitySecs": 0.1,
			"ingressRequestRateLimiterEnabled": true, "comment": "x"`,
		`"ingressRequestAdmissionRatePerSec": 1000.0`} {
		assert.Equal(t, `{"ok":1.0}`, ask(t, f, `{"setParameter": 1, `+parameters+`}`), parameters)
	}
	want := Limit{Enabled: true, RatePerSec: 1000, BurstCapacitySecs: 0.1}
	assert.Equal(t, want, f.Requests.Limit())
	assert.Equal(t, served, ask(t, f, `{"setParameter": 1, "transactionLifetimeLimitSeconds": 3}`), "it is the backend's")
	for _, parameter := range []string{`"ingressRequestRateLimiterEnabled": "yes"`, `"ingressRequestAdmissionRatePerSec": 0`,
		`"ingressRequestAdmissionRatePerSec": 1.5`, `"ingressRequestAdmissionBurstCapacitySecs": {"$numberDouble": "NaN"}`,
		`"ingressRequestAdmissionBurstCapacitySecs": 0.0`} {
		reply := ask(t, f, `{"setParameter": 1, "ingressRequestRateLimiterEnabled": false, `+parameter+`}`)
		assert.Contains(t, reply, `"codeName":"BadValue"`, parameter)
		assert.Equal(t, want, f.Requests.Limit(), parameter)
	}
}

// Requests and rejections are work for one worker, so that of the capacity (1-kT)/(1-k) is served, T being the load and k the share of a
// rejection.
func TestCapacityQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFront()
		f.SetCapacity(&Capacity{PerSecond: 10, Queue: 1, RejectionCost: 0.1})
		start := time.Now()
		var running sync.WaitGroup
		ends := make(chan time.Duration, 3)
		for range 2 {
			running.Go(func() {
				assert.Equal(t, served, ask(t, f, find))
				ends <- time.Since(start)
			})
		}
		synctest.Wait()
		assert.Equal(t, served, ask(t, f, `{"hello": 1}`), "monitoring takes no capacity")
		assert.Zero(t, time.Since(start))
		assert.Contains(t, ask(t, f, find), `"code":462`)
		assert.Equal(t, 210*time.Millisecond, time.Since(start), "a rejection waits for the worker")
		running.Wait()
		assert.Equal(t, 100*time.Millisecond, <-ends)
		assert.Equal(t, 200*time.Millisecond, <-ends)

		time.Sleep(time.Hour) // idle time is not saved up
		start = time.Now()
		ask(t, f, find)
		assert.Equal(t, 100*time.Millisecond, time.Since(start))

		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := f.Handle(ctx, handlertest.Request(t, "d", find), nil)
		assert.ErrorIs(t, err, context.DeadlineExceeded, "it ends with the client")
		assert.Zero(t, f.worker.present)
	})
}

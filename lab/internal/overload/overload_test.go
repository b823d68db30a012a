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

	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/servererror"
	"mongofork/lab/internal/wire"
)

// The tests of time run in bubbles of testing/synctest, in which waiting is exact and takes none.

// ask returns the code in a front's reply, before a backend that serves everything.
func ask(ctx context.Context, t testing.TB, f *Front, command string) (code int64, err error) {
	t.Helper()
	var body bson.Raw
	require.NoError(t, bson.UnmarshalExtJSON([]byte(command), false, &body))
	reply, err := f.Handle(ctx, proxy.NewRequest(&proxy.Client{}, &wire.Message{Body: body}),
		func(context.Context, *proxy.Request) (bson.Raw, error) { return servererror.OK(), nil })
	code, _ = reply.Lookup("code").AsInt64OK()
	return code, err
}

func answer(t testing.TB, f *Front, command string) int64 {
	t.Helper()
	code, err := ask(t.Context(), t, f, command)
	require.NoError(t, err)
	return code
}

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter()
		for _, step := range []struct {
			enabled     bool
			rate        int32
			burst       float64
			after       time.Duration
			want, of    int
			explanation string
		}{
			{false, Unlimited().RatePerSec, Unlimited().BurstCapacitySecs, 0, 100, 100, "it is off"},
			{true, Unlimited().RatePerSec, Unlimited().BurstCapacitySecs, 0, 10_000, 10_000, "it has no bound"},
			{true, 10, 0.5, 0, 5, 20, "the bucket is full"},
			{true, 10, 0.5, 99 * time.Millisecond, 0, 1, "too early"},
			{true, 10, 0.5, time.Millisecond, 1, 2, "refilled"},
			{true, 10, 0.5, time.Hour, 5, 20, "no more is saved up than the burst"},
			{true, 20, 1, 0, 0, 1, "another limit fills no bucket"},
			{true, 20, 1, time.Hour, 20, 30, "refilled"},
			{true, 1, 1e-9, time.Second, 1, 2, "there is room for one at least"},
		} {
			time.Sleep(step.after)
			l.SetLimit(Limit{Enabled: step.enabled, RatePerSec: step.rate, BurstCapacitySecs: step.burst})
			granted := 0
			for range step.of {
				if l.admit() == nil {
					granted++
				}
			}
			assert.Equal(t, step.want, granted, step.explanation)
		}
	})
}

func TestParameters(t *testing.T) {
	f := NewFront()
	for _, parameters := range []string{
		`"ingressRequestAdmissionRatePerSec": 2000, "ingressRequestAdmissionBurstCapacitySecs": 0.1,
			"ingressRequestRateLimiterEnabled": true, "comment": "x"`,
		`"ingressRequestAdmissionRatePerSec": 1000.0`, `"transactionLifetimeLimitSeconds": 3`,
	} {
		assert.Zero(t, answer(t, f, `{"setParameter": 1, `+parameters+`}`), parameters)
	}
	want := Limit{Enabled: true, RatePerSec: 1000, BurstCapacitySecs: 0.1}
	assert.Equal(t, want, f.Requests.limit)
	for _, parameter := range []string{
		`"ingressRequestRateLimiterEnabled": "yes"`, `"ingressRequestAdmissionRatePerSec": 0`,
		`"ingressRequestAdmissionRatePerSec": 1.5`, `"ingressRequestAdmissionBurstCapacitySecs": {"$numberDouble": "NaN"}`,
		`"ingressRequestAdmissionBurstCapacitySecs": 0.0`,
	} {
		command := `{"setParameter": 1, "ingressRequestRateLimiterEnabled": false, ` + parameter + `}`
		assert.EqualValues(t, servererror.CodeBadValue, answer(t, f, command), parameter)
		assert.Equal(t, want, f.Requests.limit, parameter)
	}
}

// Requests and rejections are work for one worker, so that of the capacity (1-kT)/(1-k) is served, T being the load and k the share of a
// rejection.
func TestCapacityQueues(t *testing.T) {
	const find = `{"find": "c"}`
	synctest.Test(t, func(t *testing.T) {
		f := NewFront()
		f.SetCapacity(&Capacity{PerSecond: 10, Queue: 1, RejectionCost: 0.1})
		start := time.Now()
		var running sync.WaitGroup
		ends := make(chan time.Duration, 3)
		for range 2 {
			running.Go(func() {
				assert.Zero(t, answer(t, f, find))
				ends <- time.Since(start)
			})
		}
		synctest.Wait()
		assert.Zero(t, answer(t, f, `{"hello": 1}`), "monitoring takes no capacity")
		assert.Zero(t, time.Since(start))
		assert.EqualValues(t, 462, answer(t, f, find))
		assert.Equal(t, 210*time.Millisecond, time.Since(start), "a rejection waits for the worker")
		running.Wait()
		assert.Equal(t, 100*time.Millisecond, <-ends)
		assert.Equal(t, 200*time.Millisecond, <-ends)

		time.Sleep(time.Hour) // idle time is not saved up
		start = time.Now()
		answer(t, f, find)
		assert.Equal(t, 100*time.Millisecond, time.Since(start))

		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := ask(ctx, t, f, find)
		assert.ErrorIs(t, err, context.DeadlineExceeded, "it ends with the client")
		assert.Zero(t, f.worker.present)
	})
}

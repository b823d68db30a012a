package overload

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/proxy"
)

func newServer(capacity Capacity) *Front {
	f := NewFront()
	f.SetCapacity(&capacity)
	return f
}

// offer sends that many requests per second for that time, whether they are answered or not, and returns how many of
// them were served by its end.
func offer(t testing.TB, handler proxy.Handler, perSec int, d time.Duration) int64 {
	t.Helper()
	req := request(t, "d", `{"find": "c"}`)
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var good atomic.Int64
	var running sync.WaitGroup
	for range int(d.Seconds() * float64(perSec)) {
		running.Go(func() {
			_, _ = handler(ctx, req, func(context.Context, *proxy.Request) (bson.Raw, error) {
				good.Add(1)
				return nil, nil
			})
		})
		time.Sleep(time.Second / time.Duration(perSec))
	}
	cancel()
	running.Wait()
	return good.Load()
}

// What is served is (1-kT)/(1-k) of the capacity, T being the load and k the share of a rejection.
func TestCapacityUnderLoad(t *testing.T) {
	const capacity, seconds = 1000, 5
	for name, tt := range map[string]struct {
		load  int
		share float64
		want  float64
	}{
		"below":            {800, 0.1, 0.8},
		"free rejections":  {2000, 0, 1},
		"twice the load":   {2000, 0.1, 0.889},
		"five times":       {5000, 0.1, 0.556},
		"dear rejections":  {2000, 0.3, 0.571},
		"rejections alone": {4000, 0.5, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newServer(Capacity{PerSecond: capacity, Queue: 20, RejectionCost: tt.share})
				offer(t, c.Handle, tt.load, seconds*time.Second/2) // until the queue is full, and the state steady
				good := offer(t, c.Handle, tt.load, seconds*time.Second)
				assert.InDelta(t, tt.want, float64(good)/(capacity*seconds), 0.02)
			})
		})
	}
}

func TestCapacityQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newServer(Capacity{PerSecond: 10, Queue: 1, RejectionCost: 0.1})
		start := time.Now()
		var running sync.WaitGroup
		ends := make(chan time.Duration, 3)
		for range 2 {
			running.Go(func() {
				assert.Equal(t, served, run(t, c.Handle, "d", `{"find": "c"}`))
				ends <- time.Since(start)
			})
		}
		synctest.Wait()
		assert.Equal(t, served, run(t, c.Handle, "admin", `{"hello": 1}`), "monitoring takes no capacity")
		assert.Zero(t, time.Since(start))
		assert.Contains(t, run(t, c.Handle, "d", `{"find": "c"}`), `"code":462`)
		assert.Equal(t, 210*time.Millisecond, time.Since(start), "a rejection waits for the worker")
		running.Wait()
		assert.Equal(t, 100*time.Millisecond, <-ends)
		assert.Equal(t, 200*time.Millisecond, <-ends)

		time.Sleep(time.Hour) // idle time is not saved up
		start = time.Now()
		run(t, c.Handle, "d", `{"find": "c"}`)
		assert.Equal(t, 100*time.Millisecond, time.Since(start))
	})
}

func TestCapacityEndsWithTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newServer(Capacity{PerSecond: 1})
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := c.Handle(ctx, request(t, "d", `{"find": "c"}`), nil)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Zero(t, c.worker.present)
	})
}

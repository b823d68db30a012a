package soak

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/lab/internal/overload"
)

// fakeSet remembers what happened to it, and when. It is behind two deployments of two fronts.
type fakeSet struct {
	start   time.Time
	primary int // none below 0
	log     []string
	times   []time.Duration // of the log's entries
	err     error
	limits  [2]overload.Limit // of requests and connections
}

func (s *fakeSet) note(what string, args ...any) {
	s.log, s.times = append(s.log, fmt.Sprintf(what, args...)), append(s.times, time.Since(s.start))
}

func (s *fakeSet) Disturb(ctx context.Context, what string, member int) error {
	s.note("%s %d", what, member)
	return cmp.Or(s.err, ctx.Err())
}

func (s *fakeSet) Primary(context.Context) int { return s.primary }

func (s *fakeSet) Limit(requests, connections overload.Limit) {
	if limits := [2]overload.Limit{requests, connections}; limits != s.limits {
		s.limits = limits
		s.note("limit %v %v", requests.Enabled, connections.Enabled)
	}
}

// run carries out a plan for that time, in a bubble, until the context ends.
func (s *fakeSet) run(ctx context.Context, duration time.Duration, seed uint64, only ...string) error {
	chosen := slices.DeleteFunc(slices.Clone(faults), func(f fault) bool { return len(only) > 0 && !slices.Contains(only, f.name) })
	*s = fakeSet{start: time.Now(), primary: s.primary, err: s.err,
		limits: [2]overload.Limit{overload.Unlimited(), overload.Unlimited()}}
	return plan{seed: seed, faults: chosen, start: s.start, duration: duration}.disturb(ctx, []lab{s, s}, io.Discard)
}

// Each fault happens once before any does again, in an order that the seed decides. Also where a run ends early it is ended. What fails is
// told.
func TestPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set, logs := &fakeSet{primary: -1}, map[string]bool{}
		for seed := range uint64(20) {
			require.NoError(t, set.run(t.Context(), 90*time.Second, seed))
			log := slices.Clone(set.log)
			for _, what := range []string{"kill", "restart", "limit true false", "pause", "resume",
				"stepDown", "silent", "off", "reset", "limit false true", "limit false false"} {
				assert.Contains(t, fmt.Sprint(log), what, "seed %d", seed)
			}
			assert.NotContains(t, fmt.Sprint(log), "-1", "seed %d: what would be the primary's happens to another member", seed)
			require.NoError(t, set.run(t.Context(), 90*time.Second, seed))
			assert.Equal(t, log, set.log, "the same seed")
			logs[fmt.Sprint(log)] = true
		}
		assert.Len(t, logs, 20)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second+time.Millisecond)
		defer cancel()
		assert.NoError(t, set.run(ctx, 100*time.Second, 1, "pause"))
		assert.Len(t, set.log, 2)
		assert.Contains(t, set.log[1], "resume", "what was begun is ended")
		assert.Equal(t, 10*time.Second+time.Millisecond, set.times[1])

		set = &fakeSet{primary: 2, err: errors.New("it does not answer")}
		assert.ErrorContains(t, set.run(t.Context(), time.Minute, 1, "kill"), "it does not answer")
		assert.NoError(t, set.run(t.Context(), time.Minute, 1, "step-down"), "there may be no primary")
	})
}

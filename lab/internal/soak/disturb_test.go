package soak

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
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

func TestDisturb(t *testing.T) {
	// What each fault does to the fronts of both applications, or to a member.
	for name, want := range map[string][]string{
		"kill": {"kill", "restart"}, "pause": {"pause", "resume"}, "step-down": {"stepDown 2"}, // which is the primary
		"silent":           {"silent", "silent", "off", "off"},
		"overload":         {"limit true false", "limit false false"},
		"connection limit": {"reset", "limit false true", "reset", "limit false false"},
	} {
		synctest.Test(t, func(t *testing.T) {
			const duration = 10 * time.Minute
			f := faults[slices.IndexFunc(faults, func(f fault) bool { return f.name == name })]
			set, n := &fakeSet{primary: 2}, len(want)
			require.NoError(t, set.run(t.Context(), duration, 1, name))
			free := duration / 10
			for i := 0; i < len(set.log); i += n {
				for j, what := range want {
					assert.Contains(t, set.log[i+j], what)
				}
				if f.end != "" {
					assert.Equal(t, strings.TrimPrefix(set.log[i], f.begin), strings.TrimPrefix(set.log[i+n-1], f.end), "the same member")
				}
				began, ended := set.times[i], set.times[i+n-1]
				assert.GreaterOrEqual(t, began, free, name)
				assert.LessOrEqual(t, ended, duration-duration/10, name)
				assert.True(t, ended-began >= f.least && ended-began <= f.most, "%s takes %v", name, ended-began)
				if free = ended; f.ofMember {
					free += recovery
				}
			}
		})
	}
}

// Each fault happens once before any does again, in an order that the seed decides. Also where a run ends early it is ended. What fails is
// told.
func TestPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set, logs := &fakeSet{primary: -1}, map[string]bool{}
		for seed := range uint64(20) {
			require.NoError(t, set.run(t.Context(), 90*time.Second, seed))
			log := slices.Clone(set.log)
			for _, what := range []string{"kill", "limit true false", "pause", "stepDown", "silent", "limit false true"} {
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

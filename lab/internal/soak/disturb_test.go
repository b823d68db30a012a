package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"mongofork/lab/internal/overload"
)

// fakeSet remembers what happened to it, and when. It is behind two deployments of two fronts.
type fakeSet struct {
	start  time.Time
	first  int // the primary, none below 0
	log    []string
	err    error
	limits [][2]overload.Limit // of requests and connections, one after the other
}

// named returns the fault of a name.
func named(name string) *fault {
	return faults[slices.IndexFunc(faults, func(f *fault) bool { return f.name == name })]
}

func (s *fakeSet) note(what string, args ...any) error {
	s.log = append(s.log, time.Since(s.start).String()+" "+fmt.Sprintf(what, args...))
	return s.err
}

func (s *fakeSet) Disturb(_ context.Context, what string, member int) error {
	return s.note("%s %d", what, member)
}
func (s *fakeSet) Primary(context.Context) int { return s.first }
func (s *fakeSet) Limit(requests, connections overload.Limit) {
	s.limits = append(s.limits, [2]overload.Limit{requests, connections})
}

// disturb carries out incidents until the context ends.
func (s *fakeSet) disturb(ctx context.Context, incidents ...incident) error {
	s.start = time.Now()
	return disturb(ctx, []lab{s, s}, incidents, s.start, io.Discard)
}

func TestDisturber(t *testing.T) {
	const second = time.Second
	for name, test := range map[string]struct {
		incident incident
		primary  int
		want     []string
	}{
		"a kill": {incident{Fault: named("kill"), Member: 1, For: 2 * second}, 0, []string{"1s kill 1", "3s restart 1"}},
		"of the primary": {
			incident{Fault: named("kill"), Member: 1, Primary: true, For: second}, 2, []string{"1s kill 2", "2s restart 2"},
		},
		"of no primary": {incident{Fault: named("kill"), Member: 1, Primary: true, For: second}, -1,
			[]string{"1s kill 1", "2s restart 1"}},
		"a step-down": {incident{Fault: named("step-down"), Primary: true}, 2, []string{"1s stepDown 2"}},
		"all its fronts": {incident{Fault: named("silent"), Member: 1, For: second}, 0,
			[]string{"1s silent 1", "1s silent 1", "2s off 1", "2s off 1"}},
		"no front at all": {incident{Fault: named("overload"), Rate: 7, For: second}, 0, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			set := &fakeSet{first: test.primary}
			test.incident.At = second
			assert.NoError(t, set.disturb(t.Context(), test.incident))
			assert.Equal(t, test.want, set.log, name)
		})
	}
}

func TestLimits(t *testing.T) {
	limit, none := overload.Limit{Enabled: true, RatePerSec: 7, BurstCapacitySecs: 0.1}, overload.Unlimited()
	for fault, want := range map[string][2]overload.Limit{"overload": {limit, none}, "connection limit": {none, limit}} {
		synctest.Test(t, func(t *testing.T) {
			set, none := &fakeSet{}, [2]overload.Limit{none, none}
			assert.NoError(t, set.disturb(t.Context(), incident{Fault: named(fault), Rate: 7, For: time.Minute}))
			assert.Equal(t, [][2]overload.Limit{want, want, none, none}, set.limits, fault)
			assert.Equal(t, time.Minute, time.Since(set.start))
		})
	}
}

func TestWhatWasBegunIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := &fakeSet{}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		next := incident{At: 2 * time.Hour, Fault: named("kill")}
		assert.NoError(t, set.disturb(ctx, incident{Fault: named("pause"), For: time.Hour}, next))
		assert.Equal(t, []string{"0s pause 0", "1s resume 0"}, set.log)
	})
}

func TestDisturberTellsWhatFailed(t *testing.T) {
	set := &fakeSet{err: errors.New("it does not answer")}
	err := set.disturb(t.Context(), incident{Fault: named("kill"), Member: 2, For: time.Millisecond})
	assert.ErrorContains(t, err, "0s: kill, member 2, for 1ms: it does not answer")
	assert.NoError(t, set.disturb(t.Context(), incident{Fault: named("step-down")}), "there may be no primary")
}

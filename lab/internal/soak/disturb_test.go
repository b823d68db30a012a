package soak

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/lab/internal/fault"
	"mongofork/lab/internal/fronts"
	"mongofork/lab/internal/overload"
	"mongofork/lab/internal/topology"
)

// fakeSet remembers what happened to it, and when.
type fakeSet struct {
	start   time.Time
	primary int // none below 0
	log     []string
	err     error
}

func (s *fakeSet) note(what string) error {
	s.log = append(s.log, time.Since(s.start).String()+" "+what)
	return s.err
}

func (s *fakeSet) Disturb(_ context.Context, what string, member int, _ time.Duration) error {
	return s.note(what + " " + string(rune('0'+member)))
}

func (s *fakeSet) StepDown(time.Duration) error { return s.note("step down") }

func (s *fakeSet) Roles() []topology.Role {
	roles := make([]topology.Role, 3)
	if s.primary >= 0 {
		roles[s.primary] = topology.RolePrimary
	}
	return roles
}

func TestDisturber(t *testing.T) {
	const second = time.Second
	for name, test := range map[string]struct {
		event   Event
		primary int
		want    []string
	}{
		"a kill":         {Event{Action: &kill, Member: 1, For: 2 * second}, 0, []string{"1s kill 1", "3s restart 1"}},
		"of the primary": {Event{Action: &kill, Member: 1, Primary: true, For: second}, 2, []string{"1s kill 2", "2s restart 2"}},
		"of no primary":  {Event{Action: &kill, Member: 1, Primary: true, For: second}, -1, []string{"1s kill 1", "2s restart 1"}},
		"at commits":     {Event{Action: &commitKill, Primary: true, For: second}, 2, []string{"1.3s kill 2", "2s restart 2"}},
		"a pause":        {Event{Action: &pause, Member: 0, For: second}, 2, []string{"1s pause 0", "2s resume 0"}},
		"a partition":    {Event{Action: &isolate, Member: 0, For: second}, 2, []string{"1s partition 0", "2s heal 0"}},
		"a step-down":    {Event{Action: &stepDown, Member: 0}, 2, []string{"1s step down"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			set := &fakeSet{start: time.Now(), primary: test.primary}
			test.event.At = second
			d := &disturber{set: set, progress: &strings.Builder{}}
			assert.NoError(t, d.run(t.Context(), []Event{test.event}, set.start))
			assert.Equal(t, test.want, set.log, name)
		})
	}
}

func TestWhatWasBegunIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := &fakeSet{start: time.Now()}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		d := &disturber{set: set, progress: &strings.Builder{}}
		assert.NoError(t, d.run(ctx, []Event{
			{Action: &pause, For: time.Hour}, {At: 2 * time.Hour, Action: &kill, For: time.Hour},
		}, set.start))
		assert.Equal(t, []string{"0s pause 0", "1s resume 0"}, set.log)
	})
}

func TestDisturberTellsWhatFailed(t *testing.T) {
	set := &fakeSet{start: time.Now(), err: errors.New("it does not answer")}
	d := &disturber{set: set, progress: &strings.Builder{}}
	err := d.run(t.Context(), []Event{{Action: &kill, Member: 2, For: time.Millisecond}}, time.Now())
	assert.ErrorContains(t, err, "0s: kill, member 2, for 1ms: it does not answer")
	assert.NoError(t, d.run(t.Context(), []Event{{Action: &stepDown}}, time.Now()), "there may be no primary")
}

// Each event of a front has its effect at every station, and leaves none.
func TestFronts(t *testing.T) {
	const nobody = "127.0.0.1:1"
	d := &disturber{progress: &strings.Builder{}}
	for range 2 {
		l, err := fronts.Open(fronts.Config{Topology: topology.Spec{Kind: topology.ReplicaSet, Members: 3}, Backend: nobody})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		served := make(chan error, 1)
		go func() { served <- l.Run(ctx) }()
		t.Cleanup(func() {
			cancel()
			assert.NoError(t, <-served)
		})
		d.stations = append(d.stations, &station{lab: l})
	}
	limit := overload.Limit{Enabled: true, RatePerSec: 7, BurstCapacitySecs: 0.1}
	for action, inEffect := range map[*Action]func(*station) bool{
		&silent:     func(s *station) bool { return s.lab.HasFault(1, fault.Silent) },
		&reset:      func(s *station) bool { return s.lab.HasFault(1, fault.Reset) },
		&overloaded: func(s *station) bool { return s.lab.Limits(0).Requests.Limit() == limit },
		&refusing:   func(s *station) bool { return s.lab.Limits(2).Connections.Limit() == limit },
	} {
		require.NoError(t, action.begin(t.Context(), d, 1, Event{Rate: 7}))
		for _, s := range d.stations {
			assert.True(t, inEffect(s), action.name)
		}
		require.NoError(t, action.end(t.Context(), d, 1, Event{}))
		for _, s := range d.stations {
			assert.False(t, inEffect(s), action.name)
			assert.False(t, s.lab.Limits(0).Requests.Limit().Enabled || s.lab.Limits(0).Connections.Limit().Enabled)
		}
	}
}

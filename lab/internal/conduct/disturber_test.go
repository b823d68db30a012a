package conduct

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"mongofork/lab/internal/members"
	"mongofork/lab/internal/soak"
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

func (s *fakeSet) Process(_ context.Context, member int, action members.Action) error {
	return s.note(string(action) + " " + string(rune('0'+member)))
}

func (s *fakeSet) Partition(cut []int, _ time.Duration) error {
	if len(cut) == 0 {
		return s.note("heal")
	}
	return s.note("cut " + string(rune('0'+cut[0])))
}

func (s *fakeSet) StepDown(time.Duration) error { return s.note("step down") }

func (s *fakeSet) Status() topology.Status {
	status := topology.Status{Members: make([]topology.MemberStatus, 3)}
	if s.primary >= 0 {
		status.Members[s.primary].Role = topology.RolePrimary
	}
	return status
}

func TestDisturber(t *testing.T) {
	const second = time.Second
	for name, test := range map[string]struct {
		event   soak.Event
		primary int
		want    []string
	}{
		"a kill":            {soak.Event{Action: soak.Kill, Front: 1, For: 2 * second}, 0, []string{"1s kill 1", "3s restart 1"}},
		"of the primary":    {soak.Event{Action: soak.Kill, Front: 1, Primary: true, For: second}, 2, []string{"1s kill 2", "2s restart 2"}},
		"of no primary":     {soak.Event{Action: soak.Kill, Front: 1, Primary: true, For: second}, -1, []string{"1s kill 1", "2s restart 1"}},
		"at commits":        {soak.Event{Action: soak.CommitKill, Primary: true, For: second}, 2, []string{"1.3s kill 2", "2s restart 2"}},
		"a pause":           {soak.Event{Action: soak.Pause, Front: 0, For: second}, 2, []string{"1s pause 0", "2s resume 0"}},
		"a partition":       {soak.Event{Action: soak.Isolate, Front: 0, For: second}, 2, []string{"1s cut 0", "2s heal"}},
		"a step-down":       {soak.Event{Action: soak.StepDown, Front: 0}, 2, []string{"1s step down"}},
		"what is a front's": {soak.Event{Action: soak.Overload, For: second}, 2, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			set := &fakeSet{start: time.Now(), primary: test.primary}
			test.event.At = second
			d := &disturber{set: set, progress: &strings.Builder{}}
			assert.NoError(t, d.run(t.Context(), []soak.Event{test.event}, set.start))
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
		assert.NoError(t, d.run(ctx, []soak.Event{
			{Action: soak.Pause, For: time.Hour}, {At: 2 * time.Hour, Action: soak.Kill, For: time.Hour},
		}, set.start))
		assert.Equal(t, []string{"0s pause 0", "1s resume 0"}, set.log)
	})
}

func TestDisturberTellsWhatFailed(t *testing.T) {
	set := &fakeSet{start: time.Now(), err: errors.New("it does not answer")}
	d := &disturber{set: set, progress: &strings.Builder{}}
	err := d.run(t.Context(), []soak.Event{{Action: soak.Kill, Front: 2, For: time.Millisecond}}, time.Now())
	assert.ErrorContains(t, err, "member 2 is killed, and back after 1ms: member 2: it does not answer")
	assert.NoError(t, d.run(t.Context(), []soak.Event{{Action: soak.StepDown}}, time.Now()), "there may be no primary")
}

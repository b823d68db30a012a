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
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/overload"
)

func TestDocumentedErrors(t *testing.T) {
	labelled := func(labels ...string) error { return mongo.CommandError{Code: 1, Labels: labels} }
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"a label":               {labelled("RetryableWriteError"), true},
		"a label within":        {fmt.Errorf("x: %w", labelled("TransientTransactionError")), true},
		"of a write":            {mongo.WriteException{Labels: []string{"RetryableWriteError"}}, true},
		"network":               {labelled("NetworkError"), true},
		"an unknown label":      {labelled("Nonsense"), false},
		"not primary":           {mongo.CommandError{Code: 10107}, true},
		"shutdown":              {mongo.CommandError{Code: 91}, true},
		"a cursor that is gone": {mongo.CommandError{Code: 43}, true},
		"another code":          {mongo.CommandError{Code: 11000}, false},
		"selection":             {topology.ServerSelectionError{Wrapped: errors.New("x")}, true},
		"wait queue":            {topology.WaitQueueTimeoutError{}, true},
		"deadline":              {fmt.Errorf("x: %w", context.DeadlineExceeded), true},
		"an error of nobody's":  {errors.New("x"), false},
	} {
		report := newReport()
		report.operation("find", test.err)
		assert.Equal(t, test.want, report.Errors == 1, name)
		assert.Equal(t, test.want, len(report.Violations["errors that are not documented"]) == 0, name)
	}
}

func TestRender(t *testing.T) {
	clean := &Report{Operations: 15, Errors: 2, Most: 6}
	lost := &Report{Operations: 15, Most: 5, Violations: map[string][]string{"lost writes": {"insert 7", "8", "9"}}}
	arms := []*arm{{name: "v1", reference: true, Report: newReport()}, {name: "fork", Report: newReport()}}
	assert.Contains(t, render(arms), "| violations | 0 | 0 |")
	for _, arm := range arms {
		arm.sum(1, clean)
		assert.False(t, arm.failed())
	}
	arms[0].sum(2, lost)
	arms[0].sum(3, lost)
	assert.False(t, arms[0].failed(), "of a reference")
	text := render(arms)
	for _, want := range []string{"| operations | 45 | 15 |", "| documented errors | 2 | 2 |",
		"| commands of one operation, at most | 6 | 6 |", "| lost writes | 6 | 0 |",
		"v1, the first of lost writes: seed 2: insert 7", "In 45 operations, v1 broke 6 of its promises.\n",
		"fork kept every promise: in 15 operations each "} {
		assert.Contains(t, text, want)
	}
	arms[1].sum(4, lost)
	assert.True(t, arms[1].failed())
}

func TestCommandsOfAnOperation(t *testing.T) {
	for name, test := range map[string]struct {
		command    string
		operations int
		times      int
		want       map[string]int
		most       int
	}{
		"with all retries":        {"insert", 1, maxCommands, map[string]int{}, maxCommands},
		"once more":               {"insert", 1, 7, map[string]int{"operations of more than 6 commands": 1}, 7},
		"of several operations":   {"insert", 2, 4, map[string]int{}, 4},
		"batches are no attempts": {"getMore", 1, 7, map[string]int{}, 0},
	} {
		report := newReport()
		for i := range test.times * test.operations {
			command := bsondoc.Marshal(bsondoc.D(test.command, 1, "comment", fmt.Sprint(i%test.operations)))
			report.started(t.Context(), &event.CommandStartedEvent{CommandName: test.command, Command: command})
		}
		assert.Equal(t, test.want, counted(report), name)
		assert.Equal(t, test.most, report.Most, name)
	}
}

// counted returns how often each kind of violation is in the report.
func counted(report *Report) map[string]int {
	counts := map[string]int{}
	for kind, examples := range report.Violations {
		counts[kind] = len(examples)
	}
	return counts
}

// read makes a read of these numbers succeed.
func (h *history) read(a *access, numbers ...int64) {
	a.read = numbers
	h.succeed(a)
}

func TestHistory(t *testing.T) {
	const missing, twice = "acknowledged writes that are not there", "writes that were done more than once"
	const overtook, stale, rolledBack = "writes that overtook earlier ones", "reads that lack what was there",
		"reads of what did not stay"
	// In each, two acknowledged writes, 1 and 2, one after the other; then 3, which failed.
	for name, test := range map[string]struct {
		read, there []int64 // after them, and in the end
		want        map[string]int
	}{
		"what was acknowledged":            {[]int64{1, 2}, []int64{1, 2}, map[string]int{}},
		"what was not, too":                {[]int64{1, 2, 3}, []int64{1, 2, 3}, map[string]int{}},
		"what was not, after a read":       {[]int64{1, 2}, []int64{1, 2, 3}, map[string]int{}},
		"one is missing":                   {[]int64{1, 2}, []int64{1}, map[string]int{missing: 1, rolledBack: 1}},
		"all are missing":                  {nil, nil, map[string]int{missing: 2, stale: 1}},
		"one twice":                        {[]int64{1, 2}, []int64{1, 2, 1}, map[string]int{twice: 1, overtook: 1}},
		"one not acknowledged, twice":      {[]int64{1, 2}, []int64{1, 2, 3, 3}, map[string]int{twice: 1}},
		"a read that is stale":             {[]int64{1}, []int64{1, 2}, map[string]int{stale: 1}},
		"a read before both":               {nil, []int64{1, 2}, map[string]int{stale: 1}},
		"a read of what was rolled back":   {[]int64{1, 2, 3}, []int64{1, 2}, map[string]int{rolledBack: 1}},
		"not in their order":               {[]int64{2, 1}, []int64{2, 1}, map[string]int{overtook: 1}},
		"one not acknowledged, before its": {[]int64{1, 2}, []int64{3, 1, 2}, map[string]int{overtook: 1, rolledBack: 1}},
	} {
		h, report := &history{}, newReport()
		for range 2 {
			h.succeed(h.begin(1))
		}
		h.begin(1)
		h.read(h.begin(0), test.read...)
		h.check(map[int][]int64{0: test.there}, report)
		assert.Equal(t, test.want, counted(report), name)
	}
}

// What a read has to contain was known before it began, also if it is that of a write that returns the list. Lists take turns.
func TestReadsDoNotGoBack(t *testing.T) {
	const stale, rolledBack = "reads that lack what was there", "reads of what did not stay"
	h, report := &history{}, newReport()
	early := h.begin(0)
	h.succeed(h.begin(1))
	h.read(early)
	h.begin(0).read = []int64{7} // it failed
	h.check(map[int][]int64{0: {1}}, report)
	assert.Empty(t, report.Violations, "it began before")
	h.read(h.begin(1), 2)
	h.check(map[int][]int64{0: {1, 2}}, report)
	assert.Equal(t, map[string]int{stale: 1, rolledBack: 1}, counted(report))

	h, report = &history{}, newReport()
	h.begin(1)
	h.read(h.begin(0), 1)
	h.read(h.begin(0))
	h.check(map[int][]int64{0: {1}}, report)
	assert.Equal(t, map[string]int{stale: 1}, counted(report), "what was read is known, though it was not acknowledged")

	h = &history{}
	var last *access
	for range listLength {
		last = h.begin(1)
		assert.Equal(t, 0, last.list)
	}
	assert.Equal(t, 1, h.begin(1).list)
	h.succeed(last)
	assert.Empty(t, h.begin(0).before, "of another list")
}

// Transactions are whole, and each number of the session has one event.
func TestCheck(t *testing.T) {
	const whole, events = "transactions that are not whole", "events that came twice, out of order or not at all"
	for name, test := range map[string]struct {
		listed, inserted, there, seen []int64
		want                          map[string]int
	}{
		"all":                       {[]int64{1, 2}, []int64{1, 2}, []int64{1}, []int64{1}, map[string]int{}},
		"a list alone":              {[]int64{1, 2}, []int64{1}, nil, nil, map[string]int{whole: 1}},
		"a document alone":          {[]int64{1}, []int64{1, 2}, nil, nil, map[string]int{whole: 1}},
		"an event twice":            {[]int64{1}, []int64{1}, []int64{1}, []int64{1, 1}, map[string]int{events: 1}},
		"events out of order":       {[]int64{1}, []int64{1}, []int64{1, 2}, []int64{2, 1}, map[string]int{events: 1}},
		"a number without an event": {[]int64{1}, []int64{1}, []int64{1, 2}, []int64{1}, map[string]int{events: 1}},
	} {
		w := &workers{report: newReport(), seen: map[int][]int64{0: test.seen}}
		w.listed.succeed(w.listed.begin(1))
		w.listed.begin(1)
		documents := map[int][]int64{}
		for _, n := range test.inserted {
			documents[int(n)] = nil
		}
		w.check(map[string]map[int][]int64{listed: {0: test.listed}, inserted: documents, own: {0: test.there}})
		assert.Equal(t, test.want, counted(w.report), name)
	}
	w := &workers{report: newReport()}
	for _, h := range []*history{&w.shared, &w.listed, &w.own} {
		h.succeed(h.begin(1))
	}
	w.check(nil)
	assert.Equal(t, map[string]int{"acknowledged writes that are not there": 3}, counted(w.report))
}

// fakeSet remembers what happened to it, and when. It is behind two deployments of two fronts.
type fakeSet struct {
	start   time.Time
	primary int // none below 0
	log     []string
	times   []time.Duration // of the log's entries
	err     error
	limits  [2]overload.Limit // of requests and connections
	rates   map[int32]bool    // of the limits that were set
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
	for _, limit := range []overload.Limit{requests, connections} {
		if limit.Enabled && limit.BurstCapacitySecs == 0.1 {
			s.rates[limit.RatePerSec] = true
		}
	}
}

// run carries out a plan for that time, in a bubble, until the context ends.
func (s *fakeSet) run(ctx context.Context, duration time.Duration, seed uint64, only ...string) error {
	chosen := slices.DeleteFunc(slices.Clone(faults), func(f fault) bool { return len(only) > 0 && !slices.Contains(only, f.name) })
	*s = fakeSet{start: time.Now(), primary: s.primary, err: s.err, rates: map[int32]bool{},
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
			least := f.requests + f.connections
			assert.Equal(t, least > 0, len(set.rates) > 1, "%s: the limits differ", name)
			for rate := range set.rates {
				assert.InDelta(t, 1.5*least, rate, 0.5*least, name)
			}
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
		require.NoError(t, set.run(t.Context(), 0, 1))
		assert.Empty(t, set.log, "a short run")

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

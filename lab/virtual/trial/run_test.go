package trial

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/version"

	"mongofork/lab/virtual"
)

func run(t *testing.T, plan Plan) (a *application, trace Trace) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a = newApplication(plan)
		a.run(t)
		trace = a.trace()
	})
	return a, trace
}

// tries is a cursor with the errors of the last TryNext and of those to come.
type tries struct{ errs []error }

func (c *tries) TryNext(context.Context) bool { c.errs = c.errs[1:]; return c.errs[0] == nil }
func (c *tries) Err() error                   { return c.errs[0] }
func (c *tries) Close(context.Context) error  { return nil }

// TestPolled: the first error of a cursor that goes on is the call's.
func TestPolled(t *testing.T) {
	cursor := &tries{[]error{nil, nil, io.EOF, nil, io.ErrNoProgress, nil}}
	seen, err := calling{Hooks: Hooks{Out: func(any) {}}}.polled(cursor, new(bson.Raw), 5)
	assert.Equal(t, "3 []", seen)
	assert.EqualError(t, err, "EOF")
}

// honest are hostile servers that do no harm.
var honest = hostility{Percent: 1, On: "nothing"}

// TestEveryCall makes a call of each kind, and one in each way, where nothing goes wrong: all succeed, and break no rule, also none that
// is for hostile servers.
func TestEveryCall(t *testing.T) {
	ofUpstream := []string{"a pool is ready before its server is known"}
	for _, topology := range []string{"standalone", "replicaset:1", "replicaset:3", "sharded:2", "loadbalanced:2"} {
		calls := []Call{}
		for _, name := range names(kinds) {
			// Upstream does not end a client bulk write of two batches behind a load balancer.
			if topology != "loadbalanced:2" || name != "clientBulkWriteMany" || strings.Contains(version.Driver, "fork") {
				calls = append(calls, Call{Kind: name})
			}
		}
		for _, name := range names(ways) {
			calls = append(calls, Call{Kind: "findOne", Way: name})
		}
		for _, call := range calls {
			if topology == "standalone" && (slices.Contains(ofSets, call.Kind) || slices.Contains(ofSets, call.Way)) {
				continue
			}
			t.Run(topology+"/"+call.Kind+"/"+call.Way, func(t *testing.T) {
				call.ID, call.N = 1, 2
				plan := Plan{Topology: topology, Batch: 2, Auth: "SCRAM-SHA-256", Calls: []Call{call}}
				a, trace := run(t, plan)
				assert.NoError(t, a.calls[1].err)
				assert.Subset(t, ofUpstream, trace.Flaws)
				open, _ := a.cluster.Transactions()
				assert.Zero(t, open)
				for _, command := range call.commands() {
					sent := func(line string) bool { return strings.Contains(line, "sees "+command+":") }
					assert.True(t, slices.ContainsFunc(trace.Lines, sent), "no command %s", command)
				}
				plan.Hostile = honest
				_, trace = run(t, plan)
				assert.Subset(t, ofUpstream, trace.Flaws)
			})
		}
	}
}

// TestRules has an application that breaks each rule, and one next to it that does not.
func TestRules(t *testing.T) {
	t.Parallel()
	type b = *application
	call := func(change func(*tally)) func(b) { return func(a b) { change(a.calls[1]) } }
	rejects := Plan{Topology: "replicaset:1", Faults: []Fault{{What: Reject, Code: 462, On: "insert"}}}
	off, passes, routers, none := rejects, rejects, rejects, Plan{}
	off.Options = []string{"retryWrites=false"}
	passes.Faults = []Fault{{What: Reject, Passing: true}}
	routers.Faults = []Fault{{What: Reject, On: "insert", Host: 1, Times: 1000}}
	hostile := Plan{Hostile: honest}
	tests := map[string]struct {
		plan      Plan
		bad, good func(b)
	}{
		"a connection is not returned": {none, func(a b) { a.pools[event.ConnectionCheckOutStarted]++ }, // one waits
			func(a b) {
				a.pools[event.ConnectionCheckOutStarted], a.pools[event.ConnectionCheckedOut], a.pools[event.ConnectionCheckedIn] = 1, 1, 1
			}},
		unpaired:                        {none, func(a b) { a.pending[1] = 1 }, func(a b) { a.pending[1] = 0 }},
		"a write took place twice":      {none, call(func(c *tally) { c.Done = 2 }), call(func(c *tally) { c.Done = 1 })},
		"an acknowledged write is lost": {none, call(func(c *tally) { c.Lost = true }), call(func(c *tally) { c.Lost, c.err = true, io.EOF })},
		"a call outlives its deadline": {none, call(func(c *tally) { c.Deadline, c.End = time.Second, time.Second+5*time.Millisecond }),
			call(func(c *tally) { c.Deadline, c.End = time.Second, time.Second+4*time.Millisecond })},
		"a storm of connections": {none, func(a b) { a.result.Opened = 101 }, func(a b) { a.result.Opened = 100 }},
		"a command is of a transaction that has not been started there": {passes, func(a b) { a.unstarted = 1 }, func(b) {}},
		"a retry goes to the router again that failed": {routers, call(func(c *tally) { c.sent["insert"] = 3 }),
			call(func(c *tally) { c.sent["insert"] = 2 })},
		"more attempts than are allowed":    {none, call(func(c *tally) { c.Failed = 3 }), call(func(c *tally) { c.Failed = 2 })},
		"a pool is cleared for an overload": {rejects, func(a b) { a.pools[event.ConnectionPoolCleared] = 1 }, func(b) {}},
		"a retry though the option is off":  {off, call(func(c *tally) { c.Overloads = 2 }), call(func(c *tally) { c.Overloads = 1 })},
		"a write that met a network error does not say so, and that it may be retried": {rejects,
			call(func(c *tally) { c.err = mongo.CommandError{Message: "connection(127"} }),
			call(func(c *tally) { c.err = mongo.CommandError{Labels: []string{"NetworkError", "RetryableWriteError"}} })},
		"a backoff lasts until the deadline": {rejects,
			call(func(c *tally) { c.Overloads, c.err, c.Deadline, c.End = 1, io.EOF, time.Second, time.Second }),
			call(func(c *tally) { c.Overloads, c.err, c.Deadline, c.End = 1, io.EOF, time.Second, time.Second-1 })},
		"a write took place of which the error says that it did not": {none,
			call(func(c *tally) { c.Done, c.err = 1, mongo.CommandError{Labels: []string{"NoWritesPerformed"}} }),
			call(func(c *tally) { c.err = mongo.CommandError{Labels: []string{"NoWritesPerformed"}} })},
		"a call succeeds whose last attempt was rejected": {rejects, call(func(c *tally) { c.Refused = true }), func(b) {}},
		"tokens are minted": {none, func(a b) { a.minted = 1 }, func(a b) { a.minted = 0 }},
		"closing a cursor keeps its caller waiting": {none, call(func(c *tally) { c.Kind, c.End = "find", 21*time.Millisecond }),
			call(func(c *tally) { c.Kind, c.End = "find", 20*time.Millisecond })},
		"a backoff is too long": {rejects, call(func(c *tally) { c.backoffs = []float64{0, 1.1} }),
			call(func(c *tally) { c.backoffs = []float64{0, 1} })},
		"all backoffs are too short": {rejects, func(a b) { shorten(a, 0.5) }, func(a b) { shorten(a, 0.6) }},
		"a hostile server delays a call": {hostile, call(func(c *tally) { c.Deadline, c.End = time.Second, time.Second+11*time.Millisecond }),
			call(func(c *tally) { c.Deadline, c.End = time.Second, time.Second+10*time.Millisecond })},
		"a call is a success, although no server said so": {hostile, func(a b) { clear(a.hostile.accepted) }, func(b) {}},
		"too many commands": {hostile, func(a b) {
			for i := range int32(101) {
				a.hostile.commands[i] = "ping"
			}
		}, func(b) {}},
		"too many log lines":              {hostile, func(a b) { a.hostile.lines = linesAtBest + 1 }, func(a b) { a.hostile.lines = linesAtBest }},
		"too much memory":                 {hostile, func(b) { _ = strings.Repeat("x", maxMemory+1) }, func(b) {}},
		"too much work for the processor": {hostile, func(a b) { a.hostile.worked -= maxWork * time.Millisecond }, func(b) {}},
	}
	assert.Len(t, tests, len(always)+len(rules)+len(ofHostile))
	for text, tt := range tests {
		t.Run(text, func(t *testing.T) {
			broken := func(change func(b)) string {
				a := newApplication(tt.plan)
				a.of(1).Call = Call{ID: 1, Kind: "insertOne"}
				a.hostile.accepted[1] = true
				change(a)
				a.judge()
				return strings.Join(a.result.Flaws, "\n")
			}
			assert.Contains(t, broken(tt.bad), text)
			assert.NotContains(t, broken(tt.good), text)
		})
	}
}

// shorten lets four calls have backoffs that are short, except one.
func shorten(a *application, except float64) {
	for id := range 4 {
		a.of(1+id).Kind, a.of(1+id).backoffs = "insertOne", []float64{1, 0.1, 0.2, 0.1, 0, 0.2, 0.3, 0.9}
	}
	a.of(3).backoffs[6] = except
}

// TestBackoffs is about the backoffs of a call that is rejected each time, and of one whose transaction conflicts.
func TestBackoffs(t *testing.T) {
	for _, tt := range []struct {
		call  Call
		fault Fault
		want  int
	}{
		{Call{Kind: "findOne"}, Fault{What: Reject, Code: 462, On: "find", Times: 1000}, Plan{}.Limit()},
		{Call{Kind: "insertOne", Way: "within"}, Fault{What: Error, Code: 112, On: "insert", Times: 3}, 3},
	} {
		tt.call.ID, tt.fault.Nth = 1, 1
		plan := Plan{Topology: "replicaset:1", Calls: []Call{tt.call}, Faults: []Fault{tt.fault}}
		a, trace := run(t, plan)
		assert.True(t, plan.backsOff())
		assert.Empty(t, trace.Flaws)
		assert.Len(t, a.calls[1].backoffs, tt.want)
		assert.Positive(t, slices.Min(a.calls[1].backoffs))
	}
}

// TestPassing is about calls that get over errors: what these added is not recorded.
func TestPassing(t *testing.T) {
	plan := Plan{Topology: "replicaset:1", Calls: []Call{{ID: 1, Kind: "findOne"}, {ID: 2, Kind: "insertOne"}}}
	_, without := run(t, plan)
	assert.Contains(t, strings.Join(without.Calls, "\n"), "call 2:  sees insert: ")
	plan.Faults = []Fault{{What: Slow, On: "find", Nth: 1, Times: 1, For: time.Second, Passing: true}}
	a, slow := run(t, plan)
	assert.Greater(t, a.calls[1].End, time.Second)
	assert.NotContains(t, strings.Join(slow.Calls, "\n"), "call 1:  sees find: ", "the command that met it")
	assert.Len(t, slow.Calls, len(without.Calls)-2, "and its event")
}

// TestEndsOfTransactions is about commits, and an abort, that must not follow a commit.
func TestEndsOfTransactions(t *testing.T) {
	t.Parallel()
	const minor, expired, undone = "a commit that is sent again is not for the majority", "a commit is sent again after MaxTimeMSExpired",
		"a transaction is aborted that may have been committed"
	a := newApplication(Plan{})
	for _, one := range []struct {
		name, concern string
		fault         *Fault
		want          []string
	}{
		{"commitTransaction", "w1", &Fault{What: Reject}, nil}, {"commitTransaction", "w1", nil, nil},
		{"commitTransaction", "majority", nil, nil}, {"commitTransaction", "w1", &Fault{What: Error, Code: 50}, []string{minor}},
		{"commitTransaction", "majority", nil, []string{minor, expired}}, {"abortTransaction", "w1", nil, []string{minor, expired, undone}},
	} {
		body, err := bson.Marshal(bson.D{{Key: one.name, Value: 1}, {Key: "lsid", Value: 1}, {Key: "w", Value: one.concern}})
		require.NoError(t, err)
		a.endOfTransaction(virtual.Command{Name: one.name, Body: body}, one.fault)
		assert.Equal(t, one.want, a.result.Flaws, "%+v", one)
	}
}

// TestEvents is about events of pools and commands that must not be.
func TestEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newApplication(Plan{})
		a.pool(&event.PoolEvent{Type: event.ConnectionPoolReady})
		assert.Equal(t, []string{"a pool is ready before its server is known"}, a.result.Flaws)
		for _, one := range []struct {
			again, text string
			flaws       int
		}{
			{`insert: "a"`, `insert: "a", maxTimeMS: {"$numberLong":"5"}`, 1}, {`killCursors: 1`, `killCursors: 2`, 1},
			{"", "commitTransaction: 1, writeConcern: majority", 1}, {`insert: "a"`, `insert: "b"`, 2},
		} {
			a.of(1).again = one.again
			if one.again == "" { // it met a network error after it was rejected
				a.of(0).again = "commitTransaction: 1"
				a.finished(t.Context(), event.CommandFinishedEvent{CommandName: "commitTransaction"}, io.EOF)
				a.of(1).again = a.of(0).again
			}
			name, _, _ := strings.Cut(one.text, ":")
			a.sentAgain(a.of(1), name, one.text)
			assert.Len(t, a.result.Flaws, one.flaws, "%+v", one)
		}
	})
}

func TestSameSeedSamePlan(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		assert.Equal(t, New(seed), New(seed))
		assert.NotEqual(t, New(seed), New(seed+1), "seeds %d and %d", seed, seed+1)
	}
}

// TestPlansHaveEverything is about 2,000 plans, the number that "make test" runs.
func TestPlansHaveEverything(t *testing.T) {
	t.Parallel()
	whats := []string{Error, Concern, Reject, Close, Lose, Drop, Slow, Abort, Tear, Lack, Silent, Refusing, Closing, Breaking, Reset, Stop, StepDown}
	seen, peaceful, passing, strict := map[string]bool{}, 0, 0, 0
	for seed := range uint64(2000) {
		p := New(seed)
		seen[p.Topology] = true
		for _, c := range p.Calls {
			require.Contains(t, kinds, c.Kind)
			require.Contains(t, ways, c.Way)
			seen[c.Kind], seen[c.Way] = true, true
			seen["a deadline"] = seen["a deadline"] || c.Deadline > 0
			seen["a cancellation"] = seen["a cancellation"] || c.Cancel > 0
			if p.Peaceful() {
				assert.Zero(t, c.Deadline+c.Cancel)
			}
		}
		for _, f := range p.Faults {
			require.Contains(t, whats, f.What)
			seen[f.What] = true
			if f.Passing {
				seen["passing "+f.What] = true
				assert.False(t, f.What == Reject && f.Times > p.Limit(), "seed %d: no retry gets over %+v", seed, f)
			}
		}
		switch {
		case p.Peaceful():
			peaceful++
		case p.Passes() && p.OnlyRejects():
			strict++
			fallthrough
		case p.Passes():
			passing++
		}
	}
	for _, what := range append(slices.Concat(whats, names(kinds), names(ways)), "standalone", "replicaset:3", "sharded:2", "loadbalanced:1",
		"a deadline", "a cancellation", "passing "+Reject, "passing "+Close, "passing "+Lose, "passing "+Error) {
		assert.True(t, seen[what], "no plan has %q", what)
	}
	assert.Greater(t, peaceful, 300, "plans in which nothing goes wrong")
	assert.Greater(t, strict, 150, "plans of calls that get over rejections")
	assert.Greater(t, passing, 500, "plans of calls that get over errors")
}

// TestChance is about numbers that do not depend on what has been drawn before.
func TestChance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		draw := func(before int) uint64 {
			c := &Chance{Seed: 1}
			for range before {
				c.Draw("b.go")
			}
			return c.Draw("a.go")
		}
		first := draw(0)
		assert.Equal(t, first, draw(3))
		c := &Chance{Seed: 1}
		assert.NotEqual(t, c.Draw("a.go"), c.Draw("a.go"))
		time.Sleep(time.Nanosecond)
		assert.NotEqual(t, first, draw(0))
		assert.NotEqual(t, (&Chance{Seed: 1}).Draw("a.go"), (&Chance{Seed: 2}).Draw("a.go"), "another seed")
	})
}

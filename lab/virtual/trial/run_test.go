package trial

import (
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

	"mongofork/lab/virtual"
)

func run(t *testing.T, plan Plan) (trace Trace) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { trace = Run(t, plan, 0) })
	return trace
}

// TestEveryKind makes a call of each kind where nothing goes wrong.
func TestEveryKind(t *testing.T) {
	for _, topology := range []string{"standalone", "replicaset:1", "replicaset:3", "sharded:2", "loadbalanced:2"} {
		for _, name := range names(kinds) {
			if topology == "standalone" && slices.Contains(ofSets, name) || topology == "loadbalanced:2" && name == "clientBulkWriteMany" {
				continue // which upstream does not end behind a load balancer
			}
			t.Run(topology+"/"+name, func(t *testing.T) {
				everyCommand(t, run(t, Plan{Topology: topology, Batch: 2, Calls: []Call{{ID: 1, Kind: name, N: 2}}}))
			})
		}
	}
}

// TestEveryWay makes a call in each way.
func TestEveryWay(t *testing.T) {
	for _, name := range names(ways) {
		t.Run(name, func(t *testing.T) {
			everyCommand(t, run(t, Plan{Topology: "replicaset:1", Calls: []Call{{ID: 1, Kind: "findOne", Way: name}}}))
		})
	}
}

// ofUpstream are flaws that the driver of this module may have.
var ofUpstream = []string{"a pool is ready before its server is known", "a handshake does not announce backpressure"}

// everyCommand is about a call to which nothing happens.
func everyCommand(t *testing.T, trace Trace) {
	t.Helper()
	require.Len(t, trace.Outcomes, 1)
	assert.Empty(t, trace.Outcomes[0].Error)
	assert.Subset(t, ofUpstream, trace.Flaws)
	assert.Zero(t, trace.Unfinished)
	for _, command := range trace.Outcomes[0].commands() {
		sent := func(line string) bool { return strings.Contains(line, "sees "+command+":") }
		assert.True(t, slices.ContainsFunc(trace.Lines, sent), "no command %s", command)
	}
}

// TestResults is about what servers say of writes, as far as applications see it.
func TestResults(t *testing.T) {
	for kind, want := range map[string]string{
		"insertMany": "E11000 duplicate key", "updateMany": "ModifiedCount:7", "deleteOne": "DeletedCount:1",
		"clientBulkWriteMany": "InsertedCount:4 MatchedCount:0 ModifiedCount:0 DeletedCount:0 UpsertedCount:1",
		"replaceOne":          "MatchedCount:1", "bulkWrite": "E11000 duplicate key",
	} {
		trace := run(t, Plan{Topology: "replicaset:1", Calls: []Call{{ID: 1, Kind: kind, N: 4}}})
		says := func(line string) bool { return strings.Contains(line, want) }
		assert.True(t, slices.ContainsFunc(trace.Lines, says), "%s: %v", kind, trace.Lines)
	}
}

func TestFaults(t *testing.T) {
	insert := []Call{{ID: 1, Kind: "insertOne", N: 1, Deadline: 50 * time.Millisecond}}
	for what, fault := range map[string]Fault{
		"an error":               {What: Error, Code: 13, On: "insert", Nth: 1, Times: 1},
		"a write concern":        {What: Concern, Code: 64, On: "insert", Nth: 1, Times: 1},
		"lost replies":           {What: Lose, On: "insert", Nth: 1, Times: 1000},
		"closed connections":     {What: Close, On: "insert", Nth: 1, Times: 1000},
		"slow commands":          {What: Slow, For: time.Minute, On: "insert", Nth: 1, Times: 1},
		"silence":                {What: Silent, For: time.Minute},
		"refused connections":    {What: Refusing, For: time.Minute},
		"a proxy without server": {What: Away, For: time.Minute},
	} {
		t.Run(what, func(t *testing.T) {
			trace := run(t, Plan{Topology: "replicaset:1", Calls: insert, Faults: []Fault{fault}})
			require.Len(t, trace.Outcomes, 1)
			assert.NotEmpty(t, trace.Outcomes[0].Error)
			assert.LessOrEqual(t, trace.Outcomes[0].End.Truncate(time.Microsecond), 50*time.Millisecond)
		})
	}
}

func TestLostAndTwice(t *testing.T) {
	t.Parallel()
	const lost, twice = "an acknowledged write is lost", "a write took place twice"
	for name, tt := range map[string]struct {
		o       Outcome
		n       int64
		written []int
		want    []string
	}{
		"done":               {Outcome{Call: Call{Kind: "updateOne"}}, 1, nil, nil},
		"not done":           {Outcome{Call: Call{Kind: "updateOne"}}, 0, nil, []string{lost}},
		"done twice":         {Outcome{Call: Call{Kind: "updateOne"}}, 2, nil, []string{twice}},
		"failed":             {Outcome{Call: Call{Kind: "updateOne"}, Error: "x"}, 0, nil, nil},
		"failed, done twice": {Outcome{Call: Call{Kind: "updateOne"}, Error: "x"}, 2, nil, []string{twice}},
		"a read":             {Outcome{Call: Call{Kind: "findOne"}}, 0, nil, nil},
		"taken back":         {Outcome{Call: Call{Kind: "insertOne", Way: "aborts"}}, 0, nil, nil},
		"all documents":      {Outcome{Call: Call{Kind: "insertMany"}}, 1, []int{1, 2}, nil},
		"one is not there":   {Outcome{Call: Call{Kind: "insertMany"}}, 1, []int{1, 3}, []string{lost}},
	} {
		r := newRecorder()
		done := r.account(&tally{Outcome: tt.o, written: tt.written}, tt.n, func(id int) bool { return id < 3 })
		assert.Equal(t, tt.want, r.result.Flaws, name)
		assert.Equal(t, tt.n > 0, done, name)
	}
}

// TestOutcomes is about what calls, events and connections come to.
func TestOutcomes(t *testing.T) {
	trace := run(t, Plan{Topology: "replicaset:1", Calls: []Call{{ID: 1, Kind: "find"}, {ID: 2, Kind: "distinct"}}})
	assert.Len(t, trace.Outcomes, 2)
	for _, o := range trace.Outcomes {
		assert.False(t, o.Refused || !o.OK(), "%+v", o)
	}
	assert.Subset(t, ofUpstream, trace.Flaws)

	rejected := Fault{What: Reject, Code: 473, On: "count", Nth: 1, Times: 1}
	trace = run(t, Plan{Topology: "replicaset:1", Calls: []Call{{ID: 1, Kind: "estimatedDocumentCount"}}, Faults: []Fault{rejected}})
	assert.True(t, trace.Outcomes[0].Refused, "%+v", trace.Outcomes[0])

	r := newRecorder()
	r.pools[event.ConnectionCheckOutStarted], r.pools[event.ConnectionCheckedOut], r.pools[event.ConnectionCheckedIn] = 1, 1, 1
	r.pending[1] = 0
	assert.Empty(t, r.trace().Flaws)
	r.pools[event.ConnectionCheckOutStarted]++ // one waits
	assert.Equal(t, []string{"a connection is not returned"}, r.trace().Flaws)
	r.pending[2] = 1
	assert.Equal(t, []string{"a connection is not returned", unpaired}, r.trace().Flaws)
}

// TestPassing is about calls that get over errors: what these added is not recorded.
func TestPassing(t *testing.T) {
	plan := Plan{Topology: "replicaset:1", Calls: []Call{{ID: 1, Kind: "findOne"}, {ID: 2, Kind: "insertOne"}}}
	without := run(t, plan)
	assert.Contains(t, strings.Join(without.Calls, "\n"), "call 2:  sees insert: ")
	plan.Faults = []Fault{{What: Slow, On: "find", Nth: 1, Times: 1, For: time.Second, Passing: true}}
	slow := run(t, plan)
	assert.Greater(t, slow.Outcomes[0].End, time.Second)
	assert.NotContains(t, strings.Join(slow.Calls, "\n"), "call 1:  sees find: ", "the command that met it")
	assert.Len(t, slow.Calls, len(without.Calls)-2, "and its event")
}

// TestEndsOfTransactions is about commits, and an abort, that must not follow a commit.
func TestEndsOfTransactions(t *testing.T) {
	t.Parallel()
	const minor, expired, undone = "a commit that is sent again is not for the majority", "a commit is sent again after MaxTimeMSExpired",
		"a transaction is aborted that may have been committed"
	r := newRecorder()
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
		r.endOfTransaction(virtual.Command{Name: one.name, Body: body}, one.fault)
		assert.Equal(t, one.want, r.result.Flaws, "%+v", one)
	}
}

// TestEvents is about events of pools and commands that must not be.
func TestEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		r.pool(&event.PoolEvent{Type: event.ConnectionPoolReady})
		assert.Equal(t, []string{"a pool is ready before its server is known"}, r.result.Flaws)
		r.of(1).again = `insert: "a"`
		r.sentAgain(r.of(1), "insert", `insert: "a", maxTimeMS: {"$numberLong":"5"}`)
		r.of(1).again = `killCursors: 1`
		r.sentAgain(r.of(1), "killCursors", `killCursors: 2`)
		assert.Len(t, r.result.Flaws, 1)
		r.of(0).again = "commitTransaction: 1"
		r.finished(t.Context(), event.CommandFinishedEvent{CommandName: "commitTransaction"}, io.EOF)
		r.sentAgain(r.of(0), "commitTransaction", "commitTransaction: 1, writeConcern: majority")
		assert.NotContains(t, r.result.Flaws, "a retry is another command", "it met a network error after it was rejected")
		r.of(1).again = `insert: "a"`
		r.sentAgain(r.of(1), "insert", `insert: "b"`)
		assert.Contains(t, r.result.Flaws, "a retry is another command")
	})
}

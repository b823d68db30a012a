package trial

import (
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
	synctest.Test(t, func(t *testing.T) { trace = Run(t, plan, 0, true, true) })
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

// everyCommand is about a call to which nothing happens.
func everyCommand(t *testing.T, trace Trace) {
	t.Helper()
	require.Len(t, trace.Outcomes, 1)
	assert.Empty(t, trace.Outcomes[0].Error)
	assert.Empty(t, trace.Lost)
	assert.Empty(t, trace.Twice)
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
	trace := Trace{Outcomes: []Outcome{
		{Call: Call{ID: 1, Kind: "updateOne"}}, {Call: Call{ID: 2, Kind: "updateOne"}}, {Call: Call{ID: 3, Kind: "insertOne"}},
		{Call: Call{ID: 4, Kind: "updateOne"}, Error: "x"}, {Call: Call{ID: 5, Kind: "findOne"}},
		{Call: Call{ID: 6, Kind: "updateOne"}}, {Call: Call{ID: 7, Kind: "insertMany"}, written: []int{70, 71}},
		{Call: Call{ID: 8, Kind: "insertMany"}, written: []int{80, 81}},
		{Call: Call{ID: 9, Kind: "bulkWrite"}, written: []int{91, 93}},
		{Call: Call{ID: 10, Kind: "insertMany"}, written: []int{100, 101}, Error: "x"},
	}}
	trace.account(func(c Call) int64 { return map[int]int64{2: 2, 3: 1, 6: 1, 7: 1, 8: 1, 9: 1, 10: 1}[c.ID] },
		func(id int) bool { return slices.Contains([]int{70, 71, 80, 91, 100}, id) })
	assert.Equal(t, []int{1, 8, 9}, trace.Lost, "81 and 93 are not there")
	assert.Equal(t, []int{2}, trace.Twice)
}

// TestOutcomes is about what calls, events and connections come to.
func TestOutcomes(t *testing.T) {
	trace := run(t, Plan{Topology: "replicaset:1", Calls: []Call{{ID: 1, Kind: "find"}, {ID: 2, Kind: "distinct"}}})
	assert.Len(t, trace.Outcomes, 2)
	for _, o := range trace.Outcomes {
		assert.False(t, o.Refused || !o.OK(), "%+v", o)
	}
	assert.Zero(t, trace.Unpaired+trace.Held)

	rejected := Fault{What: Reject, Code: 473, On: "count", Nth: 1, Times: 1}
	trace = run(t, Plan{Topology: "replicaset:1", Calls: []Call{{ID: 1, Kind: "estimatedDocumentCount"}}, Faults: []Fault{rejected}})
	assert.True(t, trace.Outcomes[0].Refused, "%+v", trace.Outcomes[0])

	r := newRecorder()
	for _, what := range []string{event.ConnectionCheckOutStarted, event.ConnectionCheckedOut, event.ConnectionCheckOutStarted} {
		r.pools[what]++
	}
	r.pending[1], r.pending[2], r.pending[3] = 1, 0, -1
	trace = r.trace()
	assert.Equal(t, 2, trace.Held, "one has a connection, one waits")
	assert.Equal(t, 2, trace.Unpaired)
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
	r := newRecorder()
	for _, one := range []struct {
		name, concern string
		fault         *Fault
		want          [3]int
	}{
		{"commitTransaction", "w1", &Fault{What: Reject}, [3]int{}}, {"commitTransaction", "w1", nil, [3]int{}},
		{"commitTransaction", "majority", nil, [3]int{}}, {"commitTransaction", "w1", &Fault{What: Error, Code: 50}, [3]int{0, 1, 0}},
		{"commitTransaction", "majority", nil, [3]int{0, 1, 1}}, {"abortTransaction", "w1", nil, [3]int{1, 1, 1}},
	} {
		body, err := bson.Marshal(bson.D{{Key: one.name, Value: 1}, {Key: "lsid", Value: 1}, {Key: "w", Value: one.concern}})
		require.NoError(t, err)
		r.endOfTransaction(virtual.Command{Name: one.name, Body: body}, one.fault)
		assert.Equal(t, one.want, [3]int{r.result.Undone, r.result.Minor, r.result.Expired}, "%+v", one)
	}
}

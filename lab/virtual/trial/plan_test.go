package trial

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
	seen, overloads := map[string]bool{}, 0
	for seed := range uint64(2000) {
		p := New(seed)
		seen[p.Topology] = true
		for _, c := range p.Calls {
			seen[c.Kind] = true
			seen["a deadline"] = seen["a deadline"] || c.Deadline > 0
			seen["a cancellation"] = seen["a cancellation"] || c.Cancel > 0
		}
		for _, f := range p.Faults {
			seen[f.What] = true
		}
		if p.Overloads() {
			overloads++
		}
	}
	for _, what := range append(kindNames(), "standalone", "replicaset:3", "sharded:2", "loadbalanced:1", "a deadline", "a cancellation",
		Error, Concern, Reject, Close, Lose, Drop, Slow, Silent, Refusing, Closing, Away, Reset, Stop, StepDown, Capacity, Requests, Connections) {
		assert.True(t, seen[what], "no plan has %s", what)
	}
	assert.InDelta(t, 1000, overloads, 400, "plans with overload errors")
}

func TestSmallerPlans(t *testing.T) {
	t.Parallel()
	plan := Plan{Topology: "standalone", Options: []string{"a=1"}, Calls: []Call{{ID: 1}, {ID: 2}, {ID: 3}}, Faults: []Fault{{What: Slow}}}
	size := func(p Plan) int { return len(p.Options) + len(p.Calls) + len(p.Faults) }
	single := map[int]bool{}
	for _, smaller := range plan.Without() {
		assert.Less(t, size(smaller), size(plan))
		if size(smaller) == size(plan)-1 && len(smaller.Calls) == 2 {
			single[6-smaller.Calls[0].ID-smaller.Calls[1].ID] = true
		}
	}
	assert.Equal(t, map[int]bool{1: true, 2: true, 3: true}, single, "each call is left out once")
	assert.Len(t, plan.Calls, 3, "the plan itself stays")
}

func TestDifferencesAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "differences.md"))
	require.NoError(t, err)
	var subjects []string
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(line, " | "); strings.HasPrefix(line, "| ") {
			subjects = append(subjects, strings.TrimPrefix(cells[0], "| "))
		}
	}
	for _, d := range Differences {
		found := 0
		for _, subject := range subjects {
			if strings.Contains(subject, d.Row) {
				found++
			}
		}
		assert.Positive(t, found, "docs/differences.md has no row about %s", d.Row)
	}
}

func TestReason(t *testing.T) {
	t.Parallel()
	const failed, wrapped = `1.000 call 1 insertOne error mongo.CommandError "x"`, `1.000 call 1 insertOne error mongo.CommandError "x: no time for a retry: y"`
	tests := map[string]struct {
		plan           Plan
		upstream, fork []string
		want           string
	}{
		"the context's error":      {upstream: []string{failed}, fork: []string{wrapped}, want: "the deadline passes, or the context is cancelled, before a retry is sent"},
		"and another line":         {upstream: []string{failed}, fork: []string{wrapped, "1.000 server a sees ping"}},
		"a line of the fork alone": {fork: []string{"1.000 pool a: ConnectionCreated"}},
		"details of its own": {
			upstream: []string{failed, "1.000 call 1 insertOne detail write 91"}, fork: []string{wrapped, "1.000 call 1 insertOne detail write 64"},
		},
		"details and more": {
			upstream: []string{failed, "1.000 call 1 insertOne detail write 91"}, fork: []string{wrapped, "1.000 call 1 insertOne detail write 91 bulk 91"},
			want: "the deadline passes, or the context is cancelled, before a retry is sent",
		},
		"an option that the plan has": {
			plan: Plan{Options: []string{"minPoolSize=1"}}, upstream: []string{"       0.000 pool a: ConnectionCreated"}, want: "a new pool",
		},
		"a client bulk write's results": {
			upstream: []string{"1.000 event started bulkWrite of call 1 clientBulkWriteMany"},
			fork:     []string{"1.000 pool a: ConnectionCheckedIn  0s", "1.000 pool a: ConnectionCheckOutStarted  0s"},
			want:     "client bulk write, reading its results with getMore",
		},
		"its connection, after a slow monitor": {
			plan: Plan{Calls: []Call{{Kind: "clientBulkWriteMany"}}}, fork: []string{"1.000 pool a: ConnectionCheckedIn  0s"},
			want: "client bulk write, reading its results with getMore",
		},
		"a connection that is not returned": {
			plan: Plan{Calls: []Call{{Kind: "clientBulkWriteMany"}}}, upstream: []string{"1.000 pool a: ConnectionCheckedIn  0s"},
		},
		"the indexes of an insert that is interrupted": {
			plan:     Plan{Calls: []Call{{Kind: "insertMany"}}},
			upstream: []string{`1.000 call 1 insertMany error E "x"`, "1.000 call 1 insertMany detail bulk x 1 11000 of <nil>"},
			fork:     []string{`1.000 call 1 insertMany error E "x: no time for a retry: y"`, "1.000 call 1 insertMany detail bulk x 3 11000 of <nil>"},
			want:     "an interrupted write of many documents",
		},
		"of one that is not": {
			plan:     Plan{Calls: []Call{{Kind: "insertMany"}}},
			upstream: []string{"1.000 call 1 insertMany detail bulk x 1 11000 of <nil>"},
			fork:     []string{"1.000 call 1 insertMany detail bulk x 3 11000 of <nil>"},
		},
		"another call's connection": {
			upstream: []string{"1.000 event started insert of call 1 bulkWrite"},
			fork:     []string{"1.000 pool a: ConnectionCheckedIn  0s", "1.000 pool a: ConnectionCheckOutStarted  0s"},
		},
		"a commit that upstream's WithTransaction sends": {
			plan:     Plan{Options: []string{"timeoutMS=50"}},
			upstream: []string{`1.000 server a sees commitTransaction: 1, writeConcern: {"w": "majority","wtimeout": 10000}, lsid: 1`},
			fork:     []string{`1.000 server a sees commitTransaction: 1, writeConcern: {"w": "majority"}, lsid: 1, maxTimeMS: 1500`},
			want:     "`WithTransaction`, client-level timeout without a deadline",
		},
		"without a majority": {
			plan:     Plan{Options: []string{"timeoutMS=50"}},
			upstream: []string{`1.000 server a sees commitTransaction: 1, writeConcern: {"w": "majority","wtimeout": 10000}, lsid: 1`},
			fork:     []string{`1.000 server a sees commitTransaction: 1, lsid: 1, maxTimeMS: 1500`},
		},
		"its getMore needs no second connection": {
			plan:     Plan{Calls: []Call{{Kind: "clientBulkWriteMany"}}},
			upstream: []string{"       1.000 pool a: ConnectionCreated  0s"},
			fork:     []string{"       1.000 event started getMore of call 1 clientBulkWriteMany", "       1.000 event succeeded bulkWrite after 400µs"},
		},
		"it starts at once": {
			plan:     Plan{Calls: []Call{{Kind: "clientBulkWriteMany"}}},
			upstream: []string{"       1.000 pool a: ConnectionCreated  0s"},
			fork:     []string{"       1.000 event started getMore of call 1 clientBulkWriteMany"},
			want:     "client bulk write, reading its results with getMore",
		},
		"its next batch behind a load balancer": {
			plan:     Plan{Calls: []Call{{Kind: "clientBulkWriteMany"}}},
			upstream: []string{`1.000 call 1 clientBulkWriteMany error E "an inserted document is too large"`, "1.000 call 1 clientBulkWriteMany is "},
			fork:     []string{"1.000 event started bulkWrite of call 1 clientBulkWriteMany"},
			want:     "client bulk write, reading its results with getMore",
		},
		"another error of it": {
			plan:     Plan{Calls: []Call{{Kind: "clientBulkWriteMany"}}},
			upstream: []string{`1.000 call 1 clientBulkWriteMany error E "x"`, "1.000 call 1 clientBulkWriteMany is "},
			fork:     []string{"1.000 event started bulkWrite of call 1 clientBulkWriteMany"},
		},
		"a change stream's retry finds no server": {
			plan:     Plan{Calls: []Call{{Kind: "watch"}}},
			upstream: []string{`1.000 call 1 watch error topology.ServerSelectionError "x"`, "1.000 call 1 watch is timeout", "1.000 call 1 watch detail"},
			fork:     []string{`1.000 call 1 watch error mongo.CommandError "y"`, "1.000 call 1 watch is ", "1.000 call 1 watch detail command 91"},
			want:     "no server or connection for a retry",
		},
		"a find's": {
			plan:     Plan{Calls: []Call{{Kind: "watch"}, {Kind: "find"}}},
			upstream: []string{`1.000 call 2 find error topology.ServerSelectionError "x"`},
			fork:     []string{`1.000 call 2 find error mongo.CommandError "y"`},
		},
		"a bulk write that is interrupted": {
			plan:     Plan{Calls: []Call{{Kind: "bulkWrite"}}},
			upstream: []string{`1.000 call 1 bulkWrite error E "x"`, "1.000 call 1 bulkWrite returns &{UpsertedCount:1 Acknowledged:false}, an error"},
			fork:     []string{`1.000 call 1 bulkWrite error E "y: no time for a retry: x"`, "1.000 call 1 bulkWrite returns &{UpsertedCount:1 Acknowledged:true}, an error"},
			want:     "an interrupted write of many documents",
		},
		"and not acknowledged": {
			plan:     Plan{Calls: []Call{{Kind: "bulkWrite"}}},
			upstream: []string{`1.000 call 1 bulkWrite error E "x"`, "1.000 call 1 bulkWrite returns &{UpsertedCount:1 Acknowledged:true}, an error"},
			fork:     []string{`1.000 call 1 bulkWrite error E "y: no time for a retry: x"`, "1.000 call 1 bulkWrite returns &{UpsertedCount:1 Acknowledged:false}, an error"},
		},
		"a change stream's attempt without a context": {
			plan: Plan{Calls: []Call{{Kind: "watch"}}},
			upstream: []string{
				"1.000 event started aggregate of call 1 watch", "1.000 event failed aggregate after 0s: E \"context canceled\" context canceled",
				"1.000 call 1 watch error E \"context canceled\"", "1.000 pool a: ConnectionCheckedOut",
			},
			fork: []string{"1.000 call 1 watch error mongo.CommandError \"context canceled\""},
			want: "the deadline passes, or the context is cancelled, before a retry is sent",
		},
		"a change stream's attempt that fails otherwise": {
			plan: Plan{Calls: []Call{{Kind: "watch"}}},
			upstream: []string{
				"1.000 event started aggregate of call 1 watch", "1.000 event failed aggregate after 0s: E \"EOF\"", "1.000 call 1 watch error E \"EOF\"",
			},
			fork: []string{"1.000 call 1 watch error mongo.CommandError \"EOF\""},
		},
		"a transaction that begins at another time": {
			plan:     Plan{Calls: []Call{{Kind: "withTransaction"}}},
			upstream: []string{`1.000 server a sees insert: "c", startTransaction: true, maxTimeMS: {"$numberLong":"88"}`},
			fork:     []string{`1.000 server a sees insert: "c", startTransaction: true, maxTimeMS: {"$numberLong":"89"}`},
			want:     "`WithTransaction`, between transactions",
		},
		"and otherwise": {
			plan:     Plan{Calls: []Call{{Kind: "withTransaction"}}},
			upstream: []string{`1.000 server a sees insert: "c", txnNumber: 1, startTransaction: true, maxTimeMS: {"$numberLong":"88"}`},
			fork:     []string{`1.000 server a sees insert: "c", txnNumber: 2, startTransaction: true, maxTimeMS: {"$numberLong":"89"}`},
		},
		"a timeout after the application's error": {
			plan:     Plan{Calls: []Call{{Kind: "withTransaction"}}},
			upstream: []string{`1.000 call 1 withTransaction error mongo.timeoutError "operation timed out: x"`, "1.000 call 1 withTransaction is timeout"},
			fork:     []string{`1.000 call 1 withTransaction error *errors.errorString "x"`, "1.000 call 1 withTransaction is "},
			want:     "`WithTransaction`, time is up after another error",
		},
		"after another": {
			plan:     Plan{Calls: []Call{{Kind: "withTransaction"}}},
			upstream: []string{`1.000 call 1 withTransaction error mongo.timeoutError "operation timed out: x"`, "1.000 call 1 withTransaction is timeout"},
			fork:     []string{`1.000 call 1 withTransaction error *errors.errorString "y"`, "1.000 call 1 withTransaction is "},
		},
		"an option that it has not": {upstream: []string{"       0.000 pool a: ConnectionCreated"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reason := Reason(tt.plan, tt.upstream, tt.fork, slices.Concat(tt.upstream, tt.fork))
			if tt.want == "" {
				assert.Nil(t, reason)
				return
			}
			require.NotNil(t, reason)
			assert.Equal(t, tt.want, reason.Row)
		})
	}
}

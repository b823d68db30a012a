package trial

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// feature is something that plans may have.
type feature struct {
	occurs func(Plan) bool // in a plan
	plan   Plan
	// shows are patterns of lines of its trace, and how often there is such a line: if negative, at least so often.
	shows map[string]int
	fails string // what the call's error says; empty if there is none
}

func calls(kind string) []Call { return []Call{{ID: 1, Kind: kind, N: 2}} }

func hasOption(option string) func(Plan) bool {
	return func(p Plan) bool {
		return slices.ContainsFunc(p.Options, func(o string) bool { return strings.Contains(o, option) })
	}
}

func authenticates(p Plan, mechanism string) bool { return p.Auth.Mechanism == mechanism }

func fault(what, on string) func(Plan) bool {
	return func(p Plan) bool { return p.faulty(func(f Fault) bool { return f.What == what && f.On == on }) }
}

func hasKind(kind string) func(Plan) bool { return func(p Plan) bool { return p.Has(kind) } }

func once(what, on string) []Fault { return []Fault{{What: what, On: on, Nth: 1, Times: 1}} }

// coded are the same with a code, or a field.
func coded(code int32, field string, faults []Fault) []Fault {
	faults[0].Code, faults[0].Field = code, field
	return faults
}

const broken = "connection reset|EOF"

var noRetry = []string{"retryWrites=false"}

var features = map[string]feature{
	"SCRAM": {
		occurs: func(p Plan) bool { return authenticates(p, Scram) && !p.Auth.Speculative },
		plan:   Plan{Auth: Auth{Mechanism: Scram}, Calls: calls("findOne")},
		shows:  map[string]int{`handshake saslStart: .*mechanism: "SCRAM-SHA-256"`: 1, "handshake saslContinue": 1},
	},
	"speculative SCRAM": {
		occurs: func(p Plan) bool { return authenticates(p, Scram) && p.Auth.Speculative },
		plan:   Plan{Auth: Auth{Mechanism: Scram, Speculative: true}, Calls: calls("findOne")},
		shows:  map[string]int{"handshake .*speculativeAuthenticate": -1, "handshake saslStart": 0, "handshake saslContinue": 1},
	},
	"SCRAM with an empty exchange": {
		occurs: func(p Plan) bool { return authenticates(p, Scram) && p.Auth.Exchange },
		plan:   Plan{Auth: Auth{Mechanism: Scram, Exchange: true}, Calls: calls("findOne")},
		shows:  map[string]int{"handshake saslStart": 1, "handshake saslContinue": 1},
	},
	"the offered mechanism": {
		occurs: func(p Plan) bool { return authenticates(p, Offered) },
		plan:   Plan{Auth: Auth{Mechanism: Offered}, Calls: calls("findOne")},
		shows: map[string]int{`handshake .*saslSupportedMechs: ".*user"`: -1,
			`handshake saslStart: .*mechanism: "SCRAM-SHA-256"`: 1},
	},
	"PLAIN": {
		occurs: func(p Plan) bool { return authenticates(p, Plain) },
		plan:   Plan{Auth: Auth{Mechanism: Plain}, Calls: calls("findOne")},
		shows:  map[string]int{`handshake saslStart: .*mechanism: "PLAIN"`: 1, "handshake saslContinue": 0},
	},
	"OIDC and code 391": {
		occurs: func(p Plan) bool {
			return authenticates(p, OIDC) && p.faulty(func(f Fault) bool { return f.Code == 391 })
		},
		plan:  Plan{Auth: Auth{Mechanism: OIDC}, Calls: calls("findOne"), Faults: coded(391, "", once(Error, "find"))},
		shows: map[string]int{`handshake saslStart: .*mechanism: "MONGODB-OIDC"`: 1, "sees find": 2},
	},
	"a fault at saslStart": {
		occurs: fault(Close, "saslStart"),
		plan:   Plan{Auth: Auth{Mechanism: Plain}, Options: noRetry, Calls: calls("insertOne"), Faults: once(Close, "saslStart")},
		shows:  map[string]int{"handshake saslStart": 1, "sees insert": 0}, fails: "auth error",
	},
	"a fault at saslContinue": {
		occurs: fault(Error, "saslContinue"),
		plan: Plan{Auth: Auth{Mechanism: Scram}, Options: noRetry, Calls: calls("insertOne"),
			Faults: coded(18, "", once(Error, "saslContinue"))},
		shows: map[string]int{"handshake saslContinue": 1, "sees insert": 0}, fails: "auth error",
	},
	"a monitor's command that is given up": {
		occurs: func(p Plan) bool { return p.Monitor.Asks > 0 && fault(Reject, "count")(p) },
		plan: Plan{Monitor: Monitor{On: "succeeded", Asks: 30 * time.Millisecond}, Calls: calls("insertOne"), Faults: []Fault{
			{What: Slow, On: "count", Nth: 1, Times: 1, For: time.Second},
		}},
		shows: map[string]int{"call 1001 started count": 1, "call 1001 error .*canceled": 1,
			` 3\d\.\d+ call 1 .* no error`: 1},
	},
	"a slow monitor": {
		occurs: func(p Plan) bool { return p.Monitor.Takes > 0 },
		plan:   Plan{Monitor: Monitor{On: "started", Takes: 30 * time.Millisecond}, Calls: calls("insertOne")},
		shows:  map[string]int{` 3\d\.\d+ call 1 .* no error`: 1},
	},
	"a handler of descriptions that lets others run": {
		occurs: func(p Plan) bool { return p.Monitor.Yields > 0 },
		plan:   Plan{Monitor: Monitor{Yields: 100}, Calls: calls("insertOne")},
		shows:  map[string]int{"server .* Unknown to RSPrimary": 1},
	},
	"a second commit after a late reply": {
		occurs: func(p Plan) bool {
			return fault(Slow, "commitTransaction")(p) &&
				slices.ContainsFunc(p.Calls, func(c Call) bool { return c.Again == "commit" && c.Deadline > 0 })
		},
		plan: Plan{
			Calls:  []Call{{ID: 1, Kind: "transaction", N: 1, Deadline: 20 * time.Millisecond, Again: "commit"}},
			Faults: []Fault{{What: Slow, On: "commitTransaction", Nth: 1, Times: 1, For: 50 * time.Millisecond}},
		},
		shows: map[string]int{"sees commitTransaction": 2, "call 2001 returns .*no error": 1}, fails: "deadline",
	},
	"an abort after a commit with code 50": {
		occurs: func(p Plan) bool {
			code := func(f Fault) bool { return f.Code == 50 && f.On == "commitTransaction" }
			return p.faulty(code) && slices.ContainsFunc(p.Calls, func(c Call) bool { return c.Again == "abort" })
		},
		plan: Plan{Calls: []Call{{ID: 1, Kind: "transaction", N: 1, Again: "abort"}},
			Faults: coded(50, "", once(Error, "commitTransaction"))},
		shows: map[string]int{"call 2001 returns": 1}, fails: "MaxTimeMSExpired",
	},
	"heartbeats by polling": {
		occurs: hasOption("serverMonitoringMode=poll"),
		plan:   Plan{Options: []string{"serverMonitoringMode=poll"}, Calls: calls("ping")},
		shows:  map[string]int{"handshake .*maxAwaitTimeMS": 0},
	},
	"minPoolSize": {
		occurs: hasOption("minPoolSize=2"),
		plan:   Plan{Options: []string{"minPoolSize=2"}, Calls: calls("ping")},
		shows:  map[string]int{`\([45] connections opened`: 1},
	},
	"compressors": {
		occurs: hasOption("compressors=snappy"),
		plan:   Plan{Options: []string{"compressors=snappy,zlib"}, Calls: calls("insertOne")},
		shows:  map[string]int{"sees insert: .*, compressed$": 1, "handshake isMaster.*compressed$": 0},
	},
	"another compressor": {
		occurs: hasOption("compressors=zlib"),
		plan:   Plan{Options: []string{"compressors=zlib"}, Calls: calls("find")},
		shows:  map[string]int{"sees (find|getMore): .*, compressed$": -1},
	},
	"maxStaleness and tags": {
		occurs: func(p Plan) bool { return hasOption("maxStaleness")(p) && hasOption("readPreferenceTags")(p) },
		plan: Plan{
			Topology: "replicaset:3",
			Options:  []string{"readPreference=secondary&readPreferenceTags=dc:dc2&maxStalenessSeconds=100"},
			Calls:    calls("findOne"),
		},
		shows: map[string]int{`127.0.0.1:27018 sees find: .*"maxStalenessSeconds"`: 1},
	},
	"causal consistency": {
		occurs: hasKind("causal"), plan: Plan{Calls: calls("causal")}, shows: map[string]int{"sees find: .*afterClusterTime": 1},
	},
	"snapshot sessions": {
		occurs: hasKind("snapshot"), plan: Plan{Calls: calls("snapshot")},
		shows: map[string]int{`sees find: .*"snapshot"`: 1, "sees find: .*atClusterTime": 0, "sees distinct: .*atClusterTime": 1},
	},
	"tailable cursors": {
		occurs: hasKind("tailable"), plan: Plan{Calls: calls("tailable")},
		shows: map[string]int{"sees find: .*awaitData: true": 1, "sees getMore": -1, "sees killCursors": 1},
	},
	"a client bulk write of several batches": {
		occurs: hasKind("clientBulkWriteMany"), plan: Plan{Batch: 2, Calls: calls("clientBulkWriteMany")},
		shows: map[string]int{"sees bulkWrite": 3, "sees getMore": -1},
	},
	"cancellation during a backoff": {
		occurs: func(p Plan) bool {
			return p.Calls[0].Cancel > 0 &&
				p.faulty(func(f Fault) bool { return f.What == Reject && f.Times == 1000 && f.Code == 462 })
		},
		plan: Plan{
			Options: []string{"maxAdaptiveRetries=50"}, Calls: []Call{{ID: 1, Kind: "findOne", Cancel: 900 * time.Millisecond}},
			Faults: []Fault{{What: Reject, Code: 462, On: "find", Nth: 1, Times: 1000}},
		},
		shows: map[string]int{"failed find.*SystemOverloadedError": -1, `^ +900\.\d+ call 1 returns`: 1},
		fails: "exceeds the server's limit",
	},
	"several services behind a load balancer": {
		occurs: func(p Plan) bool { return p.Topology == "loadbalanced:3" },
		plan:   Plan{Topology: "loadbalanced:3", Calls: []Call{{ID: 1, Worker: 1, Kind: "find"}, {ID: 2, Worker: 2, Kind: "find"}}},
		shows:  map[string]int{"sees getMore": -1, "call [12] returns .*no error": 2},
	},
	"a reset while a connection is dialed": {
		occurs: func(p Plan) bool { return p.faulty(func(f Fault) bool { return f.What == Breaking }) },
		plan:   Plan{Topology: "loadbalanced:1", Calls: calls("insertOne"), Faults: []Fault{{What: Breaking, For: time.Minute}}},
		shows:  map[string]int{"sees insert": 0}, fails: "connection reset",
	},
	"a reset during hello": {
		occurs: fault(Abort, "hello"),
		plan: Plan{Topology: "loadbalanced:1", Calls: calls("insertOne"),
			Faults: []Fault{{What: Abort, On: "hello", Nth: 1, Times: 1000}}},
		shows: map[string]int{"sees insert": 0}, fails: broken,
	},
	"a reset at saslStart": {
		occurs: fault(Abort, "saslStart"), plan: Plan{Auth: Auth{Mechanism: Scram}, Options: noRetry, Calls: calls("insertOne"),
			Faults: once(Abort, "saslStart")},
		shows: map[string]int{"handshake saslStart": 1, "sees insert": 0}, fails: broken,
	},
	"a reset at saslContinue": {
		occurs: fault(Abort, "saslContinue"), plan: Plan{Auth: Auth{Mechanism: Scram}, Options: noRetry, Calls: calls("insertOne"),
			Faults: once(Abort, "saslContinue")},
		shows: map[string]int{"handshake saslContinue": 1, "sees insert": 0}, fails: broken,
	},
	"half of a reply": {
		occurs: fault(Tear, "hello"), plan: Plan{Options: []string{"retryReads=false"}, Calls: calls("findOne"),
			Faults: once(Tear, "find")},
		shows: map[string]int{"sees find": 1}, fails: "EOF",
	},
	"many labels": {
		occurs: func(p Plan) bool { return p.faulty(func(f Fault) bool { return f.What == Labels }) },
		plan:   Plan{Calls: calls("insertOne"), Faults: once(Labels, "insert")},
		shows:  map[string]int{`detail write .*"label0000000" "label0000001"`: 1}, fails: "fails by plan",
	},
	"a change stream that begins again": {
		occurs: func(p Plan) bool {
			return p.Has("watch") && p.faulty(func(f Fault) bool { return f.Field == "cursor.postBatchResumeToken" })
		},
		plan: Plan{Calls: calls("watch"), Faults: append(coded(0, "cursor.postBatchResumeToken", once(Lack, "aggregate")),
			coded(43, "", once(Error, "getMore"))...)},
		shows: map[string]int{"sees aggregate": 2, "sees aggregate: .*startAtOperationTime": 1},
	},
	"a cursor that cannot be closed": {
		occurs: func(p Plan) bool { return fault(Reject, "killCursors")(p) && fault(Error, "getMore")(p) },
		plan: Plan{Calls: calls("find"), Faults: append(coded(13, "", once(Error, "getMore")),
			coded(462, "", once(Reject, "killCursors"))...)},
		shows: map[string]int{"sees killCursors": 1}, fails: "by plan",
	},
	"a huge reply": {
		occurs: func(p Plan) bool { return p.faulty(func(f Fault) bool { return f.What == Huge }) },
		plan:   Plan{Calls: calls("runCommand"), Faults: once(Huge, "ping")},
		shows:  map[string]int{"succeeded ping": 1},
	},
	"a reply without what it must have": {
		occurs: func(p Plan) bool {
			return p.faulty(func(f Fault) bool { return f.What == Lack && f.Field == "cursor.firstBatch" })
		},
		plan:  Plan{Calls: calls("find"), Faults: coded(0, "cursor", once(Lack, "find"))},
		shows: map[string]int{"sees find": 1}, fails: "cursor",
	},
}

// TestFeatures is about each feature: it takes place, for the driver in this program, and some of the 2,000 plans of "make test" have it.
func TestFeatures(t *testing.T) {
	plans := make([]Plan, 2000)
	for seed := range plans {
		plans[seed] = New(uint64(seed + 1))
	}
	for name, f := range features {
		t.Run(name, func(t *testing.T) {
			assert.True(t, slices.ContainsFunc(plans, f.occurs), "no plan has it")
			if f.plan.Topology == "" {
				f.plan.Topology = "replicaset:1"
			}
			trace := run(t, f.plan)
			for pattern, times := range f.shows {
				seen := 0
				for _, line := range trace.Lines {
					if regexp.MustCompile(pattern).MatchString(text(line)) {
						seen++
					}
				}
				if times < 0 {
					assert.GreaterOrEqual(t, seen, -times, "lines with %s", pattern)
				} else {
					assert.Equal(t, times, seen, "lines with %s", pattern)
				}
			}
			require.NotEmpty(t, trace.Outcomes)
			if f.fails == "" {
				assert.Empty(t, trace.Outcomes[0].Error)
			} else {
				assert.Regexp(t, f.fails, trace.Outcomes[0].Error)
			}
			if t.Failed() {
				t.Log(fmt.Sprintln(trace.Lines))
			}
		})
	}
}

// text is what the patterns above match.
func text(l Line) string {
	return fmt.Sprintf("%12.3f call %d %s", float64(l.At.Nanoseconds())/1e6, l.Call, l.Text)
}

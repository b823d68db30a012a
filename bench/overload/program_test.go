package overload

import (
	"cmp"
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/virtual"
)

// TestJob runs the job in BENCH_JOB, and prints the result. Without one it runs a short job and expects of it what does not depend on the
// driver.
func TestJob(t *testing.T) {
	encoded := os.Getenv("BENCH_JOB")
	if encoded == "" {
		result := runJob(t, Job{Seed: 1, Scenario: Scenario{Clients: 2, Load: Load{Base: 0.5}, Capacity: 200,
			Duration: 5 * time.Second}})
		assert.InDelta(t, 50, result["goodput"], 5)
		assert.InDelta(t, 1, result["commands"], 0.05)
		assert.Zero(t, result["errors"])
		return
	}
	var job Job
	require.NoError(t, json.Unmarshal([]byte(encoded), &job))
	require.NoError(t, json.NewEncoder(os.Stdout).Encode(runJob(t, job)))
}

var (
	// seed makes all that is drawn from crypto/rand reproducible, and thereby most drivers' jitter. Versions of Go before 1.26 cannot do
	// that; results then vary by a few tenths of a percent.
	seed = func(*testing.T, uint64) {}
	// seedJitter makes it reproducible of drivers that have one generator, seeded when the program starts.
	seedJitter = func(uint64) {}
)

// runJob runs a job in virtual time.
func runJob(t *testing.T, job Job) (result Result) {
	t.Helper()
	seed(t, job.Seed)
	seedJitter(job.Seed)
	synctest.Test(t, func(t *testing.T) {
		cluster := virtual.New(t, virtual.Options{Topology: cmp.Or(job.Scenario.Topology, "standalone")})
		var err error
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		result, err = measure(ctx, job, cluster)
		require.NoError(t, err)
	})
	return result
}

// measure runs a job on servers without limits, which it sets.
func measure(ctx context.Context, job Job, cluster *virtual.Cluster) (Result, error) {
	s := job.Scenario
	r := newRun(job, cluster)
	defer r.disconnect()
	if err := r.connect(ctx); err != nil {
		return nil, err
	}
	if job.Spent {
		cluster.Intercept(func(command virtual.Command, run func() bson.Raw) bson.Raw {
			if command.Name == "find" {
				return virtual.RequestRate.Reply()
			}
			return run()
		})
		if err := r.spend(ctx); err != nil {
			return nil, err
		}
		cluster.Intercept(nil)
	}
	limit(s, cluster, 1)
	if s.NewConnections > 0 {
		cluster.LimitConnections(s.NewConnections, limitBurst)
	}
	defer slower(s, cluster)()
	cluster.Intercept(r.counting(rejects(s.Classes, rand.New(rand.NewPCG(job.Seed, job.Seed)))))
	r.load(ctx)
	return r.result(), nil
}

// limitBurst is for how many seconds a limit can be saved up.
const limitBurst = 0.1

// limit gives the servers their capacity, or a share of it, or limits.
func limit(s Scenario, cluster *virtual.Cluster, share float64) {
	if s.Limit > 0 {
		cluster.LimitRequests(s.Limit, limitBurst)
		return
	}
	// What may wait is the work of a tenth of a second.
	each := share * s.Capacity / float64(len(cluster.Hosts()))
	if slices.ContainsFunc(s.Classes, func(c Class) bool { return c.Command == "transaction" }) {
		each *= transactionCommands
	}
	cost := 0.1
	if s.RejectionCost != nil {
		cost = *s.RejectionCost
	}
	cluster.SetCapacity(&virtual.Capacity{PerSecond: each, Queue: int(each / 10), RejectionCost: cost})
	if s.MemberLoad > 0 {
		cluster.LimitRequests(int32(s.Load.Base*each/s.MemberLoad), limitBurst, 0)
	}
}

// slower lets the servers have a share of their capacity for a time. It returns what waits for the end of that.
func slower(s Scenario, cluster *virtual.Cluster) (wait func()) {
	var running sync.WaitGroup
	if s.Slower.Until > 0 {
		running.Go(func() {
			time.Sleep(s.Slower.From)
			limit(s, cluster, s.Slower.Share)
			time.Sleep(s.Slower.Until - s.Slower.From)
			limit(s, cluster, 1)
		})
	}
	return running.Wait
}

// counting returns a hook that counts the transactions that are committed in the measured time.
func (r *run) counting(hook virtual.Hook) virtual.Hook {
	began, s := time.Now(), r.job.Scenario
	return func(command virtual.Command, run func() bson.Raw) bson.Raw {
		reply := hook(command, run)
		if now := time.Since(began); command.Name == "commitTransaction" && now >= s.Warmup && now < s.Warmup+s.Duration {
			if ok, _ := reply.Lookup("ok").AsInt64OK(); ok == 1 {
				r.committed.Add(1)
			}
		}
		return reply
	}
}

// rejects returns what rejects the commands of the classes that are rejected, which the documents or filters name.
func rejects(classes []Class, random *rand.Rand) virtual.Hook {
	began := time.Now()
	return func(command virtual.Command, run func() bson.Raw) bson.Raw {
		now := time.Since(began)
		for _, path := range [][]string{{"filter", "class"}, {"documents", "0", "class"}} {
			name, found := command.Body.Lookup(path...).StringValueOK()
			for _, class := range classes {
				is := found && class.Name == name && class.Rejected > 0 && now >= class.From && (class.Until == 0 || now < class.Until)
				if is && (class.Rejected == 1 || random.Float64() < class.Rejected) {
					return virtual.RequestRate.Reply()
				}
			}
		}
		return run()
	}
}

func TestLoad(t *testing.T) {
	burst := Load{Base: 0.5, Peak: 2, Start: time.Second, Burst: time.Second, Period: 4 * time.Second}
	r := newRun(Job{Seed: 1, Scenario: Scenario{Clients: 3, Load: burst, Capacity: 1000, Duration: 9 * time.Second, Classes: []Class{
		{Name: "a", Share: 0.2}, {Name: "b", Share: 0.8}}}}, nil)
	again := newRun(r.job, nil)
	assert.Equal(t, r.operations, again.operations, "the same seed, the same load")
	perSecond, perClient, second := make([]float64, 11), make([]float64, 3), 0.0
	for _, op := range r.operations {
		perSecond[op.due/time.Second]++
		perClient[op.client]++
		second += float64(op.class)
	}
	for i, want := range []float64{500, 2000, 500, 500, 500, 2000, 500, 500, 500, 2000, 0} {
		assert.InDelta(t, want, perSecond[i], 150, "second %d", i)
	}
	all := float64(len(r.operations))
	for _, n := range perClient {
		assert.InDelta(t, all/3, n, all/20)
	}
	assert.InDelta(t, 0.8*all, second, all/50)
}

func TestResult(t *testing.T) {
	const s = time.Second
	r := &run{
		job: Job{Scenario: Scenario{Clients: 2, Capacity: 1, Warmup: s, Duration: 4 * s, Neighbours: "retryReads=false",
			Load: Load{Period: time.Hour, Start: s, Burst: s}, Classes: []Class{{Name: "x", Until: 2 * s}, {Name: "y"}}}},
		classes: []Class{{Name: "x"}, {Name: "y"}}, commands: 6, dials: 7,
		operations: []operation{
			{due: 0, ended: s / 2},                       // before the measured time
			{due: s, ended: s + s/4},                     //
			{due: 2 * s, ended: 3 * s, class: 1},         //
			{due: 2*s + s/2, ended: 3 * s, failed: true}, // the last that failed
			{due: 3 * s, ended: 3*s + s/2, client: 1},    // of a neighbour
			{due: 6 * s, ended: 7 * s, client: 1},        // after the measured time
		},
	}
	for figure, want := range map[string]float64{
		"goodput": 75, "commands": 1.5, "errors": 25, "success": 75, "p50": 0.5, "p99": 1,
		"own": 100 * 2. / 3, "others": 100, "in progress": 2.25 / 4, "dials": 7,
		"fairness":   25. / 26, // two thirds and all
		"worst":      0.8,      // two thirds of five sixths
		"recovery":   0,        // all of the first interval succeed
		"last error": 0.5, "x: success": 50, "x: p99": 0.25,
		"y: success": 100, "y: p99": 1,
	} {
		assert.InDelta(t, want, r.result()[figure], 1e-9, figure)
	}
	assert.Len(t, r.result(), 18)
	assert.Equal(t, Result{"goodput": 2, "own": 3, "others": 2, "own share": 1.5},
		Mean([]Result{{"goodput": 1, "own": 2, "others": 3}, {"goodput": 3, "own": 4, "others": 1}}))
}

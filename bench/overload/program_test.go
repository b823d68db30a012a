package overload

import (
	"cmp"
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
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
	limit(s, cluster)
	if s.NewConnections > 0 {
		cluster.LimitConnections(s.NewConnections, limitBurst)
	}
	cluster.Intercept(r.counting(rejects(s.Classes, rand.New(rand.NewPCG(job.Seed, job.Seed)))))
	r.load(ctx)
	return r.result(), nil
}

// limitBurst is for how many seconds a limit can be saved up.
const limitBurst = 0.1

// limit gives the servers their capacity, or limits.
func limit(s Scenario, cluster *virtual.Cluster) {
	if s.Limit > 0 {
		cluster.LimitRequests(s.Limit, limitBurst)
		return
	}
	// What may wait is the work of a tenth of a second.
	each := s.Capacity / float64(len(cluster.Hosts()))
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

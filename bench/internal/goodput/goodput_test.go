package goodput

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/bench/internal/arrival"
	"mongofork/bench/internal/canned"
	"mongofork/bench/internal/drivers"
	"mongofork/bench/internal/openloop"
)

// build builds the lab, and the load with the fork.
func build(t *testing.T) (lab, load string) {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	require.NoError(t, err)
	lab = filepath.Join(t.TempDir(), "lab")
	ofLab := drivers.Builder{Module: filepath.Join(root, "lab"), Environ: os.Environ()}
	_, err = ofLab.Go(context.Background(), "build", "-o", lab, "./cmd/lab")
	require.NoError(t, err)
	builder := drivers.Builder{Module: filepath.Join(root, "bench"), Temp: t.TempDir(), Environ: os.Environ()}
	fork := drivers.Driver{Name: Fork, Folder: filepath.Join(root, "build", Base)}
	load, err = builder.Build(context.Background(), fork, filepath.Join("cmd", "openloop"))
	require.NoError(t, err)
	return lab, load
}

// brief makes a scenario end soon, and slow servers of its own reject most of it however busy the machine is.
func brief(s Scenario, arms ...string) Scenario {
	s.Arms = arms
	s.Plan.Database = "bench"
	s.Plan.Clients, s.Plan.Capacity, s.Plan.Load.Base = 1, 10*float64(max(1, s.Members)), 10
	s.Plan.Warmup, s.Plan.Duration, s.Plan.Cooldown = 0, 300*time.Millisecond, 0
	s.Plan.Interval, s.Plan.Patience = s.Plan.Duration, 200*time.Millisecond
	return s
}

// TestMeasure overloads servers in small with the fork.
func TestMeasure(t *testing.T) {
	lab, load := build(t)
	backend, err := canned.Start(context.Background())
	require.NoError(t, err)
	defer backend.Close()
	config := Config{
		Arms: []Arm{
			{Name: Fork, Program: load},
			{Name: Drained, Program: load, Options: "adaptiveRetries=true", Drain: true},
			{Name: Throttling, Program: load, Options: "adaptiveThrottling=true"},
		},
		Lab: lab, Backend: backend.URI(), Database: "bench", Root: "/",
		Scenarios: []Scenario{brief(lasting(0.1, 4), Fork, Drained, Throttling), brief(members()[1], Fork)},
		Storm:     Storm{Clients: 3, PerSecond: 100, Queue: 100, Limit: time.Minute, Arms: []string{Fork}},
	}
	results, err := Measure(context.Background(), config)
	require.NoError(t, err)
	require.Len(t, results.Runs, 4)
	for _, run := range results.Runs {
		r := run.Report
		assert.Positive(t, r.Arrived)
		assert.Less(t, r.Succeeded, r.Arrived)
		assert.Equal(t, r.Arrived, r.Succeeded+r.Failed+r.GivenUp)
		assert.GreaterOrEqual(t, r.Commands, r.Succeeded+r.Failed)
	}
	drain := results.Runs[1].Report.Drain
	require.NotNil(t, drain)
	assert.Equal(t, []int{2000, 50}, drain.Commands, "a client has a thousand tokens")
	require.Len(t, results.Storms, 1)
	assert.Equal(t, 3, results.Storms[0].Report.Connected)

	together := brief(mixed()[0], Fork, Throttling)
	together.Plan.Clients = 2
	config.Scenarios, config.Storm = append(config.Scenarios[:1], together), Storm{}
	results, err = MeasureServer(context.Background(), config)
	require.NoError(t, err)
	require.Len(t, results.Runs, 5)
	assert.Positive(t, results.Runs[0].Report.Served)
	for i, run := range results.Runs[3:] {
		assert.Equal(t, together.Arms[1-i], run.Beside)
		assert.Positive(t, run.Report.Arrived)
		assert.Len(t, run.Report.Clients, 1, "half of the clients")
	}
	assert.NotEqual(t, results.Runs[3].Plan.Seed, results.Runs[4].Plan.Seed, "arrivals of their own")
}

func TestMeasureServerErrors(t *testing.T) {
	_, err := MeasureServer(context.Background(), Config{Backend: "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=10"})
	assert.ErrorContains(t, err, "fill the database bench_")
}

// TestScript has scripts in the place of an interpreter and its load.
func TestScript(t *testing.T) {
	plan := brief(lasting(0.1, 4)).Plan
	schedule, err := plan.Schedule()
	require.NoError(t, err)
	sample := openloop.Sample{Ended: 1, Outcome: "succeeded", Commands: 2}
	samples, err := json.Marshal(openloop.Samples{Operations: slices.Repeat([]openloop.Sample{sample}, len(schedule.Due))})
	require.NoError(t, err)
	input := filepath.Join(t.TempDir(), "input")
	arm := Arm{Program: "sh", Script: []string{"-c", "cat > " + input + "; echo '" + string(samples) + "'"}}

	report, _, err := arm.load(context.Background(), plan)
	require.NoError(t, err)
	assert.Equal(t, 2*len(schedule.Due), report.Commands)
	read, err := os.ReadFile(input)
	require.NoError(t, err)
	want, err := json.Marshal(schedule)
	require.NoError(t, err)
	assert.JSONEq(t, string(want), string(read))

	arm.Script = []string{"-c", `test "$0" = storm && echo '{"newcomers":[{"took_ns":1},{"errors":2}],"cleared":3}'`}
	storm, err := arm.storm(context.Background(), openloop.StormPlan{})
	require.NoError(t, err)
	assert.Equal(t, 1, storm.Connected)
	assert.Equal(t, 2, storm.Errors)
	assert.Equal(t, 3, storm.Cleared)

	arm.Script = []string{"-c", "echo no server >&2; exit 1"}
	_, _, err = arm.load(context.Background(), plan)
	assert.ErrorContains(t, err, "no server")
}

func TestMeasureErrors(t *testing.T) {
	scenario := base(Control, arrival.Load{Base: 1}, time.Second)
	_, err := Measure(context.Background(), Config{
		Lab: filepath.Join(t.TempDir(), "none"), Arms: []Arm{{Name: Fork}}, Scenarios: []Scenario{scenario},
	})
	assert.ErrorContains(t, err, "control, 1 × capacity")
	assert.ErrorContains(t, err, "none")
}

func TestFigures(t *testing.T) {
	r := Run{
		Scenario: Scenario{RejectionCost: 0.5, Plan: openloop.Plan{Capacity: 10, Duration: 2 * time.Second}},
		Report: &openloop.Report{
			Arrived: 20, Succeeded: 5, Failed: 13, Commands: 27, GivenUp: 2, Served: 4, Rejected: 20, Good: 4,
			Clients: []openloop.Share{{Arrived: 10, Succeeded: 5}, {Arrived: 10}, {}},
		},
	}
	assert.InDelta(t, 0.2, r.Goodput(), 1e-9)
	assert.InDelta(t, 0.7, r.Work(), 1e-9)
	assert.InDelta(t, 1.5, r.CommandsPerOperation(), 1e-9)
	assert.InDelta(t, 0.75, r.Errors(), 1e-9)
	assert.InDelta(t, 0.1, r.GivenUp(), 1e-9)
	assert.InDelta(t, 0.5, r.Fairness(), 1e-9, "one of two clients has everything")
	r.Report.Clients = nil
	assert.Equal(t, 1.0, r.Fairness())
}

func TestServersAreSlowerForHighLoads(t *testing.T) {
	assert.Equal(t, 200.0, lasting(0.1, 2).Capacity())
	ten := lasting(0.02, 10)
	assert.Equal(t, 40.0, ten.Capacity())
	assert.Equal(t, 4, ten.queue(), "which takes as long as twenty elsewhere")
	member := members()[0]
	assert.Equal(t, 200.0, member.Capacity(), "of each of three")
	for _, s := range LanguageScenarios() {
		assert.LessOrEqual(t, max(s.Plan.Load.Base, s.Plan.Load.Peak)*s.Plan.Capacity, 100.0, s)
	}
	slow := members()[2].limitedTo(160)
	assert.Equal(t, 88.0, slow.Capacity(), "of each of three, which get a fifth of a load of 160 each")
	assert.InDelta(t, 4, Run{Scenario: slow}.MemberLoad(), 0.1, "as much of what the first admits")
	spike := spikes()[0]
	assert.Equal(t, 53.0, spike.limitedTo(160).Capacity(), "the peak counts")
	assert.Equal(t, spike, spike.limitedTo(1000))
}

// TestTokensOutlastOverloads holds what the page says of the tokens in the scenarios of drivers of other languages: an operation
// takes at most five.
func TestTokensOutlastOverloads(t *testing.T) {
	const perClient, perOperation = 1000, 5
	for _, s := range LanguageScenarios() {
		if s.Kind == Sustained || s.Plan.Clients == 1 {
			continue
		}
		operations := max(s.Plan.Load.Base, s.Plan.Load.Peak) * s.Plan.Capacity
		overloaded := s.Plan.Load.Burst
		if overloaded == 0 || s.Kind != Spike {
			overloaded = s.Plan.Warmup + s.Plan.Duration + s.Plan.Cooldown
		}
		assert.Greater(t, float64(s.Plan.Clients*perClient), perOperation*operations*overloaded.Seconds(), s)
	}
}

func TestScenarios(t *testing.T) {
	for _, s := range slices.Concat(Scenarios(), LanguageScenarios(), FleetScenarios(), ServerScenarios()[:1]) {
		assert.NotEmpty(t, s.Arms, s)
		assert.NoError(t, s.Plan.Load.Check(), s)
		assert.Contains(t, Kinds(), s.Kind)
		if s.Shared {
			assert.Len(t, s.Arms, 2, s)
			assert.Zero(t, s.Plan.Clients%2, s)
			continue
		}
		assert.Contains(t, s.Arms, NoRetry, "which the others are compared with")
	}
}

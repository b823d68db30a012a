// Package study runs the simulations that docs/performance.md shows.
package study

import (
	"context"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"mongofork/bench/internal/sim"
)

// Study is all simulations and their results.
type Study struct {
	// Check is twice the capacity at a rejection cost of 10 %, where real drivers were measured, under several seeds.
	Check []sim.Result `json:"check"`
	// Load varies the load on one server, for several rejection costs.
	Load []sim.Result `json:"load"`
	// Goals compares the bucket with no retry at the loads and costs that have a goal, under several seeds.
	Goals []sim.Result `json:"goals"`
	// Fleet varies the number of clients that share 100 servers at twice their capacity.
	Fleet []sim.Result `json:"fleet"`
	// Servers varies the number of servers at twice their capacity.
	Servers []sim.Result `json:"servers"`
	// Members is three servers, one of which admits less than its share of the load, for both selections, under several seeds.
	Members []sim.Result `json:"members"`
	// Return is the same, with the end of the overload, and the server's share of the commands over time.
	Return []sim.Result `json:"return"`
	// Together is the same with bursts in which the other servers are overloaded, too, for all selections.
	Together []sim.Result `json:"together"`
	// Bursts is half a second at twice the capacity every three and a half, under several seeds.
	Bursts []sim.Result `json:"bursts"`
	// Spike is 5 s at three times the capacity, with the goodput over time.
	Spike []sim.Result `json:"spike"`
}

// group is the simulations of one part of the study.
type group struct {
	name      string
	scenarios []sim.Scenario
	results   *[]sim.Result
}

// groups lists all simulations; their results are to be stored in s.
func (s *Study) groups() []group {
	return []group{
		{"check", checkScenarios(), &s.Check},
		{"load", loadScenarios(), &s.Load},
		{"goals", goalScenarios(), &s.Goals},
		{"fleet", fleetScenarios(), &s.Fleet},
		{"servers", serverScenarios(), &s.Servers},
		{"members", memberScenarios(), &s.Members},
		{"return", returnScenarios(), &s.Return},
		{"together", togetherScenarios(), &s.Together},
		{"bursts", burstScenarios(), &s.Bursts},
		{"spike", spikeScenarios(), &s.Spike},
	}
}

// Full is the length of the simulations for docs/performance.md. Brief is just enough to show that the study works.
const (
	Full  = 1
	Brief = 1.0 / 200
)

// Run runs all simulations, each for a part of its time. After each part it calls progress, unless nil, with the completed part
// of the whole.
func Run(ctx context.Context, part float64, progress func(name string, done, of int, took time.Duration)) (*Study, error) {
	s := new(Study)
	return s, runGroups(ctx, s.groups(), part, progress)
}

// RunThrottling runs the simulations of throttling, as Run does the others.
func RunThrottling(ctx context.Context, part float64, progress func(name string, done, of int, took time.Duration)) (*Throttling, error) {
	var goals, tried []sim.Result
	groups := []group{
		{"throttling", trialScenarios(goalRuns(), goalSeeds), &goals},
		{"variants of throttling", trialScenarios(variantRuns(), variantSeeds), &tried},
	}
	if err := runGroups(ctx, groups, part, progress); err != nil {
		return nil, err
	}
	return &Throttling{Goals: trials(goalRuns(), goals), Variants: trials(variantRuns(), tried)}, nil
}

func runGroups(ctx context.Context, groups []group, part float64, progress func(name string, done, of int, took time.Duration)) error {
	for i, g := range groups {
		began := time.Now()
		results, err := runAll(ctx, shorten(g.scenarios, part))
		if err != nil {
			return err
		}
		*g.results = results
		if progress != nil {
			progress(g.name, i+1, len(groups), time.Since(began))
		}
	}
	return nil
}

// shorten returns the scenarios with a part of their duration.
func shorten(scenarios []sim.Scenario, part float64) []sim.Scenario {
	short := slices.Clone(scenarios)
	for i := range short {
		short[i].Warmup = time.Duration(part * float64(short[i].Warmup))
		short[i].Duration = time.Duration(part * float64(short[i].Duration))
		short[i].LimitedFor = time.Duration(part * float64(short[i].LimitedFor))
	}
	return short
}

// runAll runs simulations on all processors. The results have the order of the scenarios.
func runAll(ctx context.Context, scenarios []sim.Scenario) ([]sim.Result, error) {
	results := make([]sim.Result, len(scenarios))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, scenario := range scenarios {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			var err error
			results[i], err = sim.Run(scenario)
			return err
		})
	}
	return results, group.Wait()
}

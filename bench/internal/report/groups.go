package report

import (
	"slices"

	"mongofork/bench/internal/arrival"
	"mongofork/bench/internal/goodput"
)

// encounter is what a run met, except the times at which operations arrived.
type encounter struct {
	kind                    string
	cost                    float64
	clients, members, limit int
	capacity                float64
	beside                  string
	load                    arrival.Load
}

func encounterOf(r goodput.Run) encounter {
	return encounter{
		kind: r.Kind, cost: r.RejectionCost, clients: r.Plan.Clients, members: r.Members, limit: r.Limit, capacity: r.Plan.Capacity,
		beside: r.Beside, load: r.Plan.Load,
	}
}

// grouped groups runs that differ in nothing but their seeds. Groups, and the runs of each, are in the order of the runs.
func grouped(runs []goodput.Run) [][]goodput.Run {
	type key struct {
		encounter
		arm string
	}
	var groups [][]goodput.Run
	index := map[key]int{}
	for _, r := range runs {
		k := key{encounterOf(r), r.Arm}
		i, known := index[k]
		if !known {
			i = len(groups)
			index[k], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], r)
	}
	return groups
}

// withoutRetries returns, for each of the runs, that of the driver which does not retry, at the same time.
func withoutRetries(r *goodput.Results, runs []goodput.Run) []goodput.Run {
	var all []goodput.Run
	for _, run := range runs {
		i := slices.IndexFunc(r.Runs, func(other goodput.Run) bool {
			return other.Arm == goodput.NoRetry && encounterOf(other) == encounterOf(run) && other.Plan.Seed == run.Plan.Seed
		})
		all = append(all, r.Runs[i])
	}
	return all
}

// ratios returns, for each of the runs, the ratio of a figure to that of the driver which does not retry.
func ratios(r *goodput.Results, runs []goodput.Run, of func(goodput.Run) float64) []float64 {
	all := values(runs, of)
	for i, without := range withoutRetries(r, runs) {
		all[i] /= of(without)
	}
	return all
}

// arms returns the arms of a kind of scenario, in the order in which they appear first.
func arms(r *goodput.Results, kind string) []string {
	var all []string
	for _, run := range r.Runs {
		if run.Kind == kind && !slices.Contains(all, run.Arm) {
			all = append(all, run.Arm)
		}
	}
	return all
}

// ofKind returns the runs of a kind of scenario with an arm.
func ofKind(r *goodput.Results, kind, arm string) []goodput.Run {
	var some []goodput.Run
	for _, run := range r.Runs {
		if run.Kind == kind && run.Arm == arm {
			some = append(some, run)
		}
	}
	return some
}

package report

import (
	"fmt"
	"time"

	"mongofork/bench/internal/arrival"
	"mongofork/bench/internal/chart"
	"mongofork/bench/internal/sim"
	"mongofork/bench/internal/study"
)

// DrawSimulations draws the plots of the simulations into a folder.
func DrawSimulations(s *study.Study, folder string) error {
	charts := map[string]chart.Chart{
		"simulated-amplification": amplificationChart(s),
		"simulated-fleet":         fleetChart(s),
		"simulated-spike":         spikeChart(s),
	}
	for _, cost := range costs(s.Load) {
		charts[goodputName(cost)] = goodputChart(s, cost)
	}
	for name, c := range charts {
		if err := c.Save(folder, name); err != nil {
			return err
		}
	}
	return nil
}

// goodputName is the name of the plot of goodput at a rejection cost.
func goodputName(cost float64) string { return fmt.Sprintf("simulated-goodput-%.0f", 100*cost) }

// costs returns the rejection costs of results, in the order in which they appear first.
func costs(results []sim.Result) []float64 {
	var all []float64
	for _, r := range results {
		if len(all) == 0 || all[len(all)-1] != r.Scenario.RejectionCost {
			all = append(all, r.Scenario.RejectionCost)
		}
	}
	return all
}

func goodputChart(s *study.Study, cost float64) chart.Chart {
	return chart.Chart{
		Title: fmt.Sprintf("Goodput under a lasting overload; a rejection costs %.0f %% of an operation (simulated)", 100*cost),
		X:     "offered load, as a multiple of the capacity", Y: "operations that succeed, % of the capacity",
		LogX: true, TicksX: loadTicks(), MaxY: 140,
		Lines: loadLines(s, cost, func(r sim.Result) float64 { return 100 * r.Goodput }),
	}
}

func amplificationChart(s *study.Study) chart.Chart {
	const cost = 0.1
	return chart.Chart{
		Title: "Commands per operation under a lasting overload; a rejection costs 10 % (simulated)",
		X:     "offered load, as a multiple of the capacity", Y: "commands per operation",
		LogX: true, TicksX: loadTicks(), MaxY: 9,
		Lines: loadLines(s, cost, func(r sim.Result) float64 { return r.CommandsPerOperation }),
	}
}

func loadTicks() []float64 { return []float64{0.5, 1, 1.5, 2, 3, 4, 6, 8, 10} }

// loadLines returns a line for each policy over the load.
func loadLines(s *study.Study, cost float64, y func(sim.Result) float64) []chart.Line {
	var lines []chart.Line
	for i, policy := range policies(s.Load) {
		line := chart.Line{Name: string(policy), Group: i}
		for _, r := range s.Load {
			if r.Scenario.Policy == policy && r.Scenario.RejectionCost == cost {
				line.Points = append(line.Points, chart.Point{X: r.Scenario.Load.Base, Y: y(r)})
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// fleetChart has a line for each length of the overload, and dashed ones for the policies that it lies between.
func fleetChart(s *study.Study) chart.Chart {
	c := chart.Chart{
		Title: "Where the bucket bends: full buckets at twice the capacity of 100 servers (simulated)",
		X:     "clients that share 20,000 operations a second, with 1000 tokens each", Y: "commands per operation",
		LogX: true, MaxY: 8,
	}
	var longest float64 // X
	bucket := of(s.Fleet, func(r sim.Result) bool { return r.Scenario.Policy == sim.FullBucket })
	for _, r := range bucket {
		if n := len(c.Lines); n == 0 || c.Lines[n-1].Name != windowName(r.Scenario.Duration) {
			c.Lines = append(c.Lines, chart.Line{Name: windowName(r.Scenario.Duration), Group: n})
		}
		line := &c.Lines[len(c.Lines)-1]
		line.Points = append(line.Points, chart.Point{X: float64(r.Scenario.Clients), Y: r.CommandsPerOperation})
		longest = max(longest, float64(r.Scenario.Clients))
	}
	for _, r := range s.Fleet {
		if r.Scenario.Policy != sim.FullBucket {
			c.Lines = append(c.Lines, chart.Line{
				Name: string(r.Scenario.Policy), Group: len(c.Lines), Dashed: true,
				Points: []chart.Point{{X: 1, Y: r.CommandsPerOperation}, {X: longest, Y: r.CommandsPerOperation}},
			})
		}
	}
	return c
}

func windowName(d time.Duration) string {
	return fmt.Sprintf("bucket, first %.0f s", d.Seconds())
}

func spikeChart(s *study.Study) chart.Chart {
	c := chart.Chart{
		Title: "A spike of three times the capacity for 5 s (simulated)",
		X:     "seconds", Y: "operations that succeed, % of the capacity", MaxY: 140,
	}
	for i, r := range s.Spike {
		line := chart.Line{Name: string(r.Scenario.Policy), Group: i}
		for j, goodput := range r.Series {
			middle := (float64(j) + 0.5) * r.Scenario.Interval.Seconds()
			line.Points = append(line.Points, chart.Point{X: middle, Y: 100 * goodput})
		}
		c.Lines = append(c.Lines, line)
		load := r.Scenario.Load
		c.Shades = shades(load, r.Scenario.Duration)
	}
	return c
}

// shades returns the bursts of a load until a time.
func shades(load arrival.Load, until time.Duration) [][2]float64 {
	var all [][2]float64
	for from := load.Start; load.Period > 0 && from < until; from += load.Period {
		all = append(all, [2]float64{from.Seconds(), min(from+load.Burst, until).Seconds()})
	}
	return all
}

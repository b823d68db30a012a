package report

import (
	"fmt"
	"slices"

	"mongofork/bench/internal/arrival"
	"mongofork/bench/internal/chart"
	"mongofork/bench/internal/goodput"
	"mongofork/bench/internal/sim"
	"mongofork/bench/internal/study"
)

// received is the number of commands that reached the server, as a multiple of its capacity. Unlike commands per operation it
// does not depend on which operations ended.
func received(r goodput.Run) float64 {
	return float64(r.Report.Served+r.Report.Rejected) / (r.Plan.Capacity * r.Plan.Duration.Seconds())
}

// loadChart has a line for each driver under a lasting overload, over the load, of the medians over the seeds.
func loadChart(r *goodput.Results, title string, of func(goodput.Run) float64) chart.Chart {
	c := chart.Chart{X: "load, as a multiple of the capacity", Y: title, LogX: true}
	const cost = 0.1
	for _, group := range groupedBy(r.Runs, []column[goodput.Run]{
		label("arm", func(r goodput.Run) string { return r.Arm }),
		label("kind", func(r goodput.Run) string { return fmt.Sprint(r.Kind, r.RejectionCost) }),
	}) {
		if group[0].Kind != goodput.Sustained || group[0].RejectionCost != cost {
			continue
		}
		line := chart.Line{Name: group[0].Arm}
		for _, runs := range groupedBy(group, []column[goodput.Run]{
			label("load", func(r goodput.Run) string { return fmt.Sprint(r.Plan.Load.Base) }),
		}) {
			load := runs[0].Plan.Load.Base
			line.Points = append(line.Points, chart.Point{X: load, Y: spread(values(runs, of)).Median})
			if !slices.Contains(c.TicksX, load) {
				c.TicksX = append(c.TicksX, load)
			}
		}
		c.Lines = append(c.Lines, line)
	}
	return c
}

// spikeChart has a line for each driver over time, of the medians over the seeds.
func spikeChart(r *goodput.Results) chart.Chart {
	c := chart.Chart{X: "seconds", Y: "goodput, % of the capacity"}
	runs := where(r.Runs, func(run goodput.Run) bool { return run.Kind == goodput.Spike })
	for _, group := range groupedBy(runs, []column[goodput.Run]{label("arm", func(r goodput.Run) string { return r.Arm })}) {
		plan := group[0].Plan
		line := chart.Line{Name: group[0].Arm}
		for i := range group[0].Report.Series {
			line.Points = append(line.Points, chart.Point{
				X: (float64(i) + 0.5) * plan.Interval.Seconds(),
				Y: spread(values(group, func(r goodput.Run) float64 {
					return 100 * float64(r.Report.Series[i].Good) / (plan.Capacity * plan.Interval.Seconds())
				})).Median,
			})
		}
		c.Lines, c.Shade = append(c.Lines, line), burst(plan.Load)
	}
	return c
}

// burst returns when the first burst of a load begins and ends.
func burst(load arrival.Load) [2]float64 {
	return [2]float64{load.Start.Seconds(), (load.Start + load.Burst).Seconds()}
}

// fleetChart has a line for each length of the overload, and dashed ones for the policies that bound it.
func fleetChart(s *study.Study) chart.Chart {
	c := chart.Chart{X: "clients that share 20,000 operations a second", Y: "commands per operation", LogX: true}
	most := 0.0
	for _, r := range s.Fleet {
		name, x := string(r.Scenario.Policy), float64(r.Scenario.Clients)
		most = max(most, x)
		if r.Scenario.Policy == sim.FullBucket {
			name = fmt.Sprintf("bucket, first %.0f s", r.Scenario.Duration.Seconds())
		}
		i := slices.IndexFunc(c.Lines, func(l chart.Line) bool { return l.Name == name })
		if i < 0 {
			i, c.Lines = len(c.Lines), append(c.Lines, chart.Line{Name: name, Dashed: r.Scenario.Policy != sim.FullBucket})
		}
		point := chart.Point{X: x, Y: r.CommandsPerOperation}
		c.Lines[i].Points = append(c.Lines[i].Points, point)
		if c.Lines[i].Dashed {
			c.Lines[i].Points = append(c.Lines[i].Points, chart.Point{X: most, Y: point.Y})
		}
		if !slices.Contains(c.TicksX, x) {
			c.TicksX = append(c.TicksX, x)
		}
	}
	return c
}

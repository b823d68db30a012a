package report

import (
	"fmt"
	"slices"

	"mongofork/bench/internal/chart"
	"mongofork/bench/internal/goodput"
)

// What the names of plots begin with.
const (
	MeasuredPlots = "measured"
	LanguagePlots = "languages"
)

// DrawGoodput draws the plots of measurements into a folder.
func DrawGoodput(r *goodput.Results, folder, prefix string) error {
	charts := map[string]chart.Chart{}
	for _, kind := range []string{goodput.Spike, goodput.Flap} {
		if len(arms(r, kind)) > 0 {
			charts[prefix+"-"+kind] = seriesChart(r, kind)
		}
	}
	for _, cost := range plottedCosts(r) {
		charts[costPlot(prefix, "goodput", cost)] = sustainedChart(r, cost, "operations that succeed, % of the capacity", 140,
			func(run goodput.Run) float64 { return 100 * run.Goodput() })
		charts[costPlot(prefix, "amplification", cost)] = sustainedChart(r, cost, "commands per operation", 9,
			goodput.Run.CommandsPerOperation)
	}
	for name, c := range charts {
		if err := c.Save(folder, name); err != nil {
			return err
		}
	}
	return nil
}

// costPlot is the name of a plot at a rejection cost.
func costPlot(prefix, what string, cost float64) string {
	return fmt.Sprintf("%s-%s-%.0f", prefix, what, 100*cost)
}

// plottedCosts returns the rejection costs that there are several lasting overloads with, in the order in which they appear
// first.
func plottedCosts(r *goodput.Results) []float64 {
	var all []float64
	loads := map[float64]float64{}
	for _, run := range ofKind(r, goodput.Sustained, goodput.NoRetry) {
		first, known := loads[run.RejectionCost]
		if !known {
			loads[run.RejectionCost] = run.Plan.Load.Base
		} else if first != run.Plan.Load.Base && !slices.Contains(all, run.RejectionCost) {
			all = append(all, run.RejectionCost)
		}
	}
	return all
}

// sustainedChart has a line for each driver over the load, of the medians over the seeds.
func sustainedChart(r *goodput.Results, cost float64, title string, maxY float64, y func(goodput.Run) float64) chart.Chart {
	c := chart.Chart{
		Title: fmt.Sprintf("A lasting overload; a rejection costs %.0f %% of an operation (measured)", 100*cost),
		X:     "offered load, as a multiple of the capacity", Y: title, LogX: true, MaxY: maxY,
	}
	highest := 0.0
	for i, arm := range arms(r, goodput.Sustained) {
		line := chart.Line{Name: arm, Group: i}
		for _, runs := range grouped(ofKind(r, goodput.Sustained, arm)) {
			if load := runs[0].Plan.Load.Base; runs[0].RejectionCost == cost {
				line.Points = append(line.Points, chart.Point{X: load, Y: median(values(runs, y))})
				highest = max(highest, load)
			}
		}
		if len(line.Points) > 0 {
			c.Lines = append(c.Lines, line)
		}
	}
	for _, tick := range []float64{1, 1.5, 2, 3, 4, 6, 8, 10} {
		if tick <= highest {
			c.TicksX = append(c.TicksX, tick)
		}
	}
	return c
}

// seriesChart has a line for each driver over time, with the first seed.
func seriesChart(r *goodput.Results, kind string) chart.Chart {
	c := chart.Chart{X: "seconds", Y: "operations that succeed, % of the capacity", MaxY: 140}
	for i, arm := range arms(r, kind) {
		run := ofKind(r, kind, arm)[0]
		load := run.Plan.Load
		c.Title = fmt.Sprintf("%v × the capacity for %v, %v × before and after (measured)", load.Peak, load.Burst, load.Base)
		line := chart.Line{Name: arm, Group: i}
		for j, interval := range run.Report.Series {
			middle := (float64(j) + 0.5) * run.Plan.Interval.Seconds()
			share := float64(interval.Good) / (run.Plan.Capacity * run.Plan.Interval.Seconds())
			line.Points = append(line.Points, chart.Point{X: middle, Y: 100 * share})
		}
		c.Lines = append(c.Lines, line)
		c.Shades = shades(load, run.Plan.Duration)
	}
	return c
}

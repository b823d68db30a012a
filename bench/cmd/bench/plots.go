package main

import (
	"gonum.org/v1/plot/plotter"

	"mongofork/bench/overload"
)

// plots are the five pictures of docs/performance.md.
func (a arms) plots(all measured) []chart {
	loads := []float64{1.1, 1.5, 2, 4, 10}
	overLoad := func(name, y string, of figure, arms ...arm) chart {
		c := chart{name: name, x: "load, as a multiple of the capacity", y: y, ticks: loads}
		for _, a := range arms {
			l := line{arm: a}
			for _, load := range loads {
				l.points = append(l.points, plotter.XY{X: load, Y: all.get(lastingAt(load, 0.1), a, of)})
			}
			c.lines = append(c.lines, l)
		}
		return c
	}
	const share = "goodput, % of the capacity"
	return []chart{
		overLoad("goodput", share, goodput, a.noRetry, a.twoRetries, a.fork, a.spent, a.throttled, a.newerThrottled),
		overLoad("commands", "commands that reach the server, of the capacity",
			func(r result) float64 { return r.Received / 100 }, a.noRetry, a.twoRetries, a.fork, a.spent, a.throttled, a.newerThrottled),
		clientsPlot(all, share, a.noRetry, a.twoRetries, a.full, a.throttled, a.newerThrottled),
		seriesPlot(all, "spike", "spike, "+clients(10), share, func(r result) []float64 { return r.Series }, 0.5,
			a.noRetry, a.twoRetries, a.fork, a.full, a.throttled, a.newerThrottled),
		seriesPlot(all, "storm", "storm", "clients connected", func(r result) []float64 { return r.Storm.Connected }, 0,
			a.noRetry, a.twoRetries, a.fork, a.throttled, a.newerThrottled),
	}
}

// clientsPlot is over the number of clients that share the load.
func clientsPlot(all measured, y string, arms ...arm) chart {
	c := chart{name: "fleet", x: "clients that share twice the capacity", y: y, ticks: []float64{1, 10, 100, 1000}}
	for _, a := range arms {
		l := line{arm: a}
		for _, n := range c.ticks {
			l.points = append(l.points, plotter.XY{X: n, Y: all.get(clients(int(n)), a, goodput)})
		}
		c.lines = append(c.lines, l)
	}
	return c
}

// seriesPlot is over time, with points at a part of each interval.
func seriesPlot(all measured, name, scenario, y string, of func(result) []float64, part float64, arms ...arm) chart {
	c := chart{name: name, x: "seconds", y: y}
	if name == "spike" {
		c.shade = [2]float64{spikeLoad.Start.Seconds(), (spikeLoad.Start + spikeLoad.Burst).Seconds()}
	}
	for _, a := range arms {
		l := line{arm: a}
		for i, v := range of(all[key{scenario, a.name}]) {
			l.points = append(l.points, plotter.XY{X: (float64(i) + part) * overload.Interval.Seconds(), Y: v})
		}
		c.lines = append(c.lines, l)
	}
	return c
}

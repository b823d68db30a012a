package main

import (
	"fmt"
	"math"

	"mongofork/bench/overload"
)

type result = overload.Result

// figure is a number of a result.
type figure func(result) float64

func goodput(r result) float64    { return r.Goodput }
func commands(r result) float64   { return r.Commands }
func failures(r result) float64   { return r.Errors }
func success(r result) float64    { return 100 - r.Errors }
func fairness(r result) float64   { return r.Fairness }
func p50(r result) float64        { return r.P50 }
func p99(r result) float64        { return r.P99 }
func recovery(r result) float64   { return r.Recovery }
func lastError(r result) float64  { return r.LastError }
func inProgress(r result) float64 { return r.InFlight }
func opened(r result) float64     { return r.Storm.Connections }
func ownShare(r result) float64   { return r.Own / r.Others }

func cleared(r result) float64     { return r.Storm.Cleared }
func stormErrors(r result) float64 { return r.Storm.Errors }
func lastClient(r result) float64  { return r.Storm.Last }
func unconnected(r result) float64 { return r.Storm.Unconnected }

// inClass returns a figure of a class; not a number if there is none of that name.
func inClass(name string, of func(overload.ClassResult) float64) figure {
	return func(r result) float64 {
		for _, c := range r.Classes {
			if c.Name == name {
				return of(c)
			}
		}
		return math.NaN()
	}
}

func classSuccess(name string) figure {
	return inClass(name, func(c overload.ClassResult) float64 { return c.Success })
}

func classP99(name string) figure {
	return inClass(name, func(c overload.ClassResult) float64 { return c.P99 })
}

// others is the share that fails of what is not always rejected, after the first second.
func others(r result) float64 {
	return inClass(served, func(c overload.ClassResult) float64 { return c.Failed })(r)
}

// get returns a figure of a scenario with an arm; NaN if it was not measured.
func (m measured) get(scenario string, a arm, of figure) float64 {
	if r, ok := m[key{scenario, a.name}]; ok {
		return of(r)
	}
	return math.NaN()
}

// formatted is a number, or a dash if there is none.
func formatted(format string, v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return fmt.Sprintf(format, v)
}

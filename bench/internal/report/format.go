package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"mongofork/bench/internal/arrival"
)

// goodputGoal is how much of the goodput without retries the bucket has to leave at a rejection cost.
func goodputGoal(cost float64) float64 {
	if cost > 0.1 {
		return 0.85
	}
	return 0.95
}

// met says whether a goal is met, or by how much it is missed.
func met(ok bool, distance float64, format string) string {
	switch {
	case ok:
		return "yes"
	case math.IsInf(distance, 0):
		return "no"
	}
	return "no, by " + fmt.Sprintf(format, math.Abs(distance))
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// median returns the median of the values; there must be at least one.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[middle-1] + sorted[middle]) / 2
	}
	return sorted[middle]
}

// rangeOf formats the median of values and their range.
func rangeOf(values []float64, format string) string {
	return fmt.Sprintf(format+" ("+format+" to "+format+")", median(values), slices.Min(values), slices.Max(values))
}

// recovered returns how long after the first burst nine tenths of the load are served, and are for a second; false if they
// never are. It goes by what is served of the load in each interval.
func recovered(served []float64, interval time.Duration, load arrival.Load) (time.Duration, bool) {
	first := int((load.Start + load.Burst) / interval)
	need := int(time.Second / interval)
	for i := first; i+need <= len(served); i++ {
		if slices.Min(served[i:i+need]) >= 0.9 {
			return time.Duration(i-first) * interval, true
		}
	}
	return 0, false
}

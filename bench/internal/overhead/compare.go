package overhead

import (
	"math"

	"mongofork/bench/internal/gobench"
)

// Comparison is how an arm's costs in one unit relate to those of the first arm, in one case.
type Comparison struct {
	// Before and After are the medians of the first arm and of this one.
	Before, After float64
	// Ratio is of the ratios of all rounds; they are 1 where there was nothing to compare.
	Ratio gobench.Summary
}

// Compare compares an arm with the first.
func (r *Results) Compare(c Case, arm, unit string) Comparison {
	before, after := r.Cell(c, r.Arms[0]).Samples[unit], r.Cell(c, arm).Samples[unit]
	ratios := make([]float64, len(before))
	for i := range before {
		ratios[i] = 1
		if before[i] > 0 {
			ratios[i] = after[i] / before[i]
		}
	}
	return Comparison{
		Before: gobench.Summarize(before).Median, After: gobench.Summarize(after).Median, Ratio: gobench.Summarize(ratios),
	}
}

// Overall compares an arm with the first over all cases: by the median, over the rounds, of the geometric mean of the
// ratios of all cases.
func (r *Results) Overall(arm, unit string) gobench.Summary {
	ratios := make([]float64, r.Rounds)
	for round := range ratios {
		var each []float64
		for _, c := range r.Cases {
			before, after := r.Cell(c, r.Arms[0]).Samples[unit][round], r.Cell(c, arm).Samples[unit][round]
			if before > 0 {
				each = append(each, after/before)
			}
		}
		ratios[round] = geometricMean(each)
	}
	return gobench.Summarize(ratios)
}

// geometricMean returns 1 for no values.
func geometricMean(values []float64) float64 {
	if len(values) == 0 {
		return 1
	}
	var logs float64
	for _, v := range values {
		logs += math.Log(v)
	}
	return math.Exp(logs / float64(len(values)))
}

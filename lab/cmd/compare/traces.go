package main

import (
	"slices"
	"time"

	"mongofork/lab/virtual/trial"
)

// traces are those of a plan's runs with one driver.
type traces []trial.Trace

func (t traces) any(is func(trial.Trace) bool) bool { return slices.ContainsFunc(t, is) }

func (t traces) all(is func(trial.Trace) bool) bool {
	return !slices.ContainsFunc(t, func(t trial.Trace) bool { return !is(t) })
}

func (t traces) numbers(of func(trial.Trace) int) []int {
	numbers := make([]int, 0, len(t))
	for _, one := range t {
		numbers = append(numbers, of(one))
	}
	return numbers
}

func (t traces) least(of func(trial.Trace) int) int { return slices.Min(t.numbers(of)) }
func (t traces) most(of func(trial.Trace) int) int  { return slices.Max(t.numbers(of)) }

// often is what more than a third of the runs reach.
func (t traces) often(of func(trial.Trace) int) int {
	numbers := slices.Sorted(slices.Values(t.numbers(of)))
	return numbers[len(numbers)-1-len(numbers)/3]
}

// oftenACall reports whether there is a call that is so in more than a third of the runs: what a driver does now and then counts, too.
func (t traces) oftenACall(is func(i int, o trial.Outcome) bool) bool {
	return t.inACall(len(t)/3+1, is)
}

// inACall reports whether there is a call that is so in that many runs.
func (t traces) inACall(least int, is func(i int, o trial.Outcome) bool) bool {
	for i := range t[0].Outcomes {
		times := 0
		for _, one := range t {
			if i < len(one.Outcomes) && is(i, one.Outcomes[i]) {
				times++
			}
		}
		if times >= least {
			return true
		}
	}
	return false
}

// longest returns the longest time of a call in the runs, or 0.
func (t traces) longest(i int, of func(trial.Outcome) time.Duration) (longest time.Duration) {
	for _, one := range t {
		if i < len(one.Outcomes) {
			longest = max(longest, of(one.Outcomes[i]))
		}
	}
	return longest
}

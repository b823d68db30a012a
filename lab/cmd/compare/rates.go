package main

import (
	"fmt"

	"mongofork/lab/virtual/trial"
)

// rates compares how often which trace occurs where not all runs have the same: each run of the fork needs a run of upstream, of its own,
// that it agrees with, but for reasons. So what one driver does half of the time, and the other always, is a difference.
func rates(plan trial.Plan, up, fork traces) (v verdict) {
	verdicts := map[[2]string]verdict{}
	compare := func(u, f trial.Trace) verdict {
		key := [2]string{u.Digest, f.Digest}
		v, ok := verdicts[key]
		if !ok {
			v = explain(plan, u, f)
			verdicts[key] = v
		}
		return v
	}
	alone := unpaired(len(up), len(fork), func(i, j int) bool { return compare(up[i], fork[j]).finding == "" })
	allowed := len(fork) / 3 // by chance; between two drivers that vary in the same way there are seldom so many
	switch {
	case up.exact() && len(fork) <= some: // if there is one, more runs tell
		allowed = 0
	case up.exact():
		allowed = len(fork) / 10
	}
	if len(alone) <= allowed {
		return verdict{reasons: []string{inexact}}
	}
	v = compare(up[0], fork[alone[0]])
	v.finding, v.detail = seldom, fmt.Sprintf("%d of %d runs of the fork have no counterpart, such as\n%s", len(alone),
		len(fork), v.detail)
	return v
}

// unpaired returns which of some numbers below b are left when as many as possible are paired off with numbers below a.
func unpaired(a, b int, fit func(i, j int) bool) (alone []int) {
	partner := make([]int, a) // plus 1
	var pair func(j int, tried []bool) bool
	pair = func(j int, tried []bool) bool {
		for i := range a {
			if tried[i] || !fit(i, j) {
				continue
			}
			tried[i] = true
			if partner[i] == 0 || pair(partner[i]-1, tried) {
				partner[i] = j + 1
				return true
			}
		}
		return false
	}
	for j := range b {
		if !pair(j, make([]bool, a)) {
			alone = append(alone, j)
		}
	}
	return alone
}

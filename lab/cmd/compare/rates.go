package main

import (
	"fmt"

	"mongofork/lab/virtual/trial"
)

// rates compares how often which trace occurs where not all runs have the same: a trace of the fork's must not occur more often than those
// of upstream that it agrees with, but for reasons. So what one driver does half of the time, and the other always, is a difference.
func rates(plan trial.Plan, up, fork traces) (v verdict) {
	var alone traces
	for _, f := range fork.byDigest() {
		partners := 0
		for _, u := range up.byDigest() {
			if explain(plan, u[0], f[0]).finding == "" {
				partners += len(u)
			}
		}
		alone = append(alone, f[min(partners, len(f)):]...)
	}
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
	v = explain(plan, up[0], alone[0])
	v.finding, v.detail = seldom, fmt.Sprintf("%d of %d runs of the fork have no counterpart, such as\n%s", len(alone),
		len(fork), v.detail)
	return v
}

// byDigest groups the traces that are the same.
func (t traces) byDigest() map[string]traces {
	groups := map[string]traces{}
	for _, one := range t {
		groups[one.Digest] = append(groups[one.Digest], one)
	}
	return groups
}

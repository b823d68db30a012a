package report

import (
	"fmt"
	"slices"
	"strings"

	"mongofork/bench/internal/goodput"
	"mongofork/internal/retry"
)

// languages holds the measurements of drivers of other languages.
type languages struct{ condition }

func languagesOf(r *goodput.Results) languages {
	c := conditionOf(r)
	c.Prefix = LanguagePlots
	return languages{c}
}

// Names are the names of the measured drivers.
func (l languages) Names() string { return enumeration(l.drivers(true)) }

// Missing names the drivers that were not measured because there was no interpreter; empty if all were.
func (l languages) Missing() string { return enumeration(l.drivers(false)) }

func (l languages) drivers(measured bool) []string {
	var some []string
	for _, arm := range []string{goodput.PyMongo, goodput.NodeDriver} {
		if slices.Contains(arms(l.Results, goodput.Sustained), arm) == measured {
			some = append(some, arm)
		}
	}
	return some
}

// TokenTimes says how long the initial tokens of ten clients would last if each request took one.
func (l languages) TokenTimes() string {
	const clients = 10
	var all []float64
	for _, run := range l.Runs {
		if run.Arm == goodput.Adaptive && run.Plan.Clients == clients {
			all = append(all, clients*retry.NewTokenBucket().Tokens()/run.Plan.Capacity)
		}
	}
	if len(all) == 0 {
		return "an unknown time"
	}
	return fmt.Sprintf("%.0f to %.0f seconds", slices.Min(all), slices.Max(all))
}

// Comparison says in one sentence how the drivers compare; empty if that was not measured.
func (l languages) Comparison() string {
	var goodputs, commands []string
	r := l.Results
	for _, arm := range arms(r, goodput.Sustained) {
		for _, runs := range grouped(ofKind(r, goodput.Sustained, arm)) {
			if runs[0].Plan.Load.Base == summaryLoad && runs[0].RejectionCost == summaryCost {
				goodputs = append(goodputs, percent(median(values(runs, goodput.Run.Goodput)))+" with `"+arm+"`")
				commands = append(commands, fmt.Sprintf("%.2f", median(values(runs, goodput.Run.CommandsPerOperation))))
			}
		}
	}
	if len(goodputs) == 0 {
		return ""
	}
	return fmt.Sprintf("Under a load of %v times the capacity, a rejection costing %s of a request, the server's goodput, as a share of its capacity, was %s; "+
		"in this order, they sent %s commands per operation.", summaryLoad, percent(summaryCost), enumeration(goodputs), enumeration(commands))
}

// enumeration puts commas and a conjunction between the items of a sentence.
func enumeration(items []string) string {
	if len(items) < 2 {
		return strings.Join(items, "")
	}
	last := len(items) - 1
	return strings.Join(items[:last], ", ") + " and " + items[last]
}

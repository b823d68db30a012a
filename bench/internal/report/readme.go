package report

import (
	"bytes"
	"fmt"
	"os"

	"mongofork/bench/internal/goodput"
)

// What stands between these lines in the README is written by this package.
var (
	summaryBegin = []byte("<!-- written by make bench-report -->\n")
	summaryEnd   = []byte("<!-- end -->\n")
)

// The load and the rejection cost that the summary is about.
const (
	summaryLoad = 2.0
	summaryCost = 0.1
)

// updateReadme replaces the summary in the README.
func updateReadme(file string, r *goodput.Results) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, begins := bytes.Cut(text, summaryBegin)
	_, after, ends := bytes.Cut(rest, summaryEnd)
	if !begins || !ends {
		return fmt.Errorf("%s: there is no summary to write; put the lines %q and %q where it belongs", file, summaryBegin, summaryEnd)
	}
	return os.WriteFile(file, bytes.Join([][]byte{before, summaryBegin, []byte(summary(r)), summaryEnd, after}, nil), 0o644)
}

// summary says in one sentence what was measured.
func summary(r *goodput.Results) string {
	said := map[string]string{}
	for _, arm := range []string{goodput.NoRetry, goodput.TwoRetries, goodput.Fork, goodput.Drained} {
		for _, runs := range grouped(ofKind(r, goodput.Sustained, arm)) {
			if runs[0].Plan.Load.Base == summaryLoad && runs[0].RejectionCost == summaryCost {
				said[arm] = percent(median(values(runs, goodput.Run.Goodput)))
			}
		}
	}
	return fmt.Sprintf(`At %v times the capacity, with a rejection costing %s of a request, goodput was %s of the capacity with v2.5.0, which does not
retry, %s with v2.9.3, which retries twice, %s with the fork, which retries five times, and %s with the fork once
`+"`adaptiveRetries`"+` had spent its tokens: **set `+"`adaptiveRetries`"+` where overload may last.**

![Goodput against load](docs/performance/measured-goodput-10.svg)
`, summaryLoad, percent(summaryCost), said[goodput.NoRetry], said[goodput.TwoRetries], said[goodput.Fork], said[goodput.Drained])
}

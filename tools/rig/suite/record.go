package suite

import (
	"fmt"
	"strings"

	"mongofork/tools/gotest"
	"mongofork/tools/rig/report"
)

// record adds the cases of a run to the suite unchanged. rerun returns the
// command that runs one of them alone.
func record(s *report.Suite, result *gotest.Result, rerun func(gotest.Key) string) {
	for _, c := range result.Cases() {
		switch c.Outcome {
		case gotest.Passed:
			s.Passed++
		case gotest.Skipped:
			s.AddSkips(tidyReason(c.Reason()))
		default:
			s.Failures = append(s.Failures, report.Failure{
				Name: c.Key.String(), What: "failed", Output: lastLines(c.Output), Rerun: rerun(c.Key),
			})
		}
	}
}

// excerptLines is how much of a failed test's output the report shows.
const excerptLines = 30

func lastLines(output []string) []string {
	if len(output) <= excerptLines {
		return output
	}
	cut := len(output) - excerptLines
	return append([]string{fmt.Sprintf("[%d lines left out]", cut)}, output[cut:]...)
}

// joinNotes puts notes into one line; empty ones are left out.
func joinNotes(notes ...string) string {
	var kept []string
	for _, note := range notes {
		if note != "" {
			kept = append(kept, note)
		}
	}
	return strings.Join(kept, "; ")
}

package suite

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"mongofork/tools/redact"
)

// Result is the result of a suite, or of a part of one. Its counts are of single cases.
type Result struct {
	Name    string
	Passed  int
	Elapsed time.Duration
	// Note is shown in the table.
	Note string
	// Skips counts the cases that were not judged, by the reason.
	Skips map[string]int
	// Failures hold one entry for each failed case.
	Failures []Failure
}

// Failure is a case that failed.
type Failure struct {
	// Name names the case, What the fault in one line.
	Name, What string
	// Output is the end of the case's output.
	Output []string
}

func (r *Result) fail(name, what string, output ...string) {
	if cut := len(output) - excerptLines; cut > 0 {
		output = append([]string{fmt.Sprintf("[%d lines left out]", cut)}, output[cut:]...)
	}
	r.Failures = append(r.Failures, Failure{name, what, output})
}

func (r *Result) skip(reason string) {
	if r.Skips == nil {
		r.Skips = map[string]int{}
	}
	r.Skips[reason]++
}

func (r *Result) skipped() (n int) {
	for _, count := range r.Skips {
		n += count
	}
	return n
}

// note adds to the note.
func (r *Result) note(format string, args ...any) {
	r.Note = strings.TrimPrefix(r.Note+"; "+fmt.Sprintf(format, args...), "; ")
}

// excerptLines is how much of a failed test's output is shown.
const excerptLines = 30

// Write writes the table, the skips, the remarks, the failures and, as the last line, the totals, without the passwords that a
// test's output may contain. It reports whether nothing failed.
func Write(w io.Writer, results []Result) (ok bool, err error) {
	var b strings.Builder
	writeTable(&b, results)
	var passed, failed, skipped int
	for _, r := range results {
		passed, failed, skipped = passed+r.Passed, failed+len(r.Failures), skipped+r.skipped()
		writeSkips(&b, r)
	}
	for _, r := range results {
		for _, f := range r.Failures {
			writeFailure(&b, r.Name, f)
		}
	}
	fmt.Fprintf(&b, "\n%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	_, err = io.WriteString(w, redact.URIs(b.String()))
	return failed == 0, err
}

func writeTable(w io.Writer, results []Result) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "\nsuite\tpassed\tfailed\tskipped\ttime\tnote\n")
	for _, r := range results {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%v\t%s\n", r.Name, r.Passed, len(r.Failures), r.skipped(),
			r.Elapsed.Round(time.Second), r.Note)
	}
	_ = t.Flush() // to memory
}

// writeSkips lists the most common reasons first.
func writeSkips(w io.Writer, r Result) {
	if len(r.Skips) == 0 {
		return
	}
	var reasons []string
	for reason := range r.Skips {
		reasons = append(reasons, reason)
	}
	slices.SortFunc(reasons, func(a, b string) int { return cmp.Or(r.Skips[b]-r.Skips[a], strings.Compare(a, b)) })
	fmt.Fprintf(w, "\n%s skipped %d:\n", r.Name, r.skipped())
	for _, reason := range reasons {
		fmt.Fprintf(w, "%6d  %s\n", r.Skips[reason], reason)
	}
}

func writeFailure(w io.Writer, suite string, f Failure) {
	fmt.Fprintf(w, "\nFAIL %s: %s: %s\n", suite, f.Name, f.What)
	for _, line := range f.Output {
		fmt.Fprintf(w, "    %s\n", line)
	}
}

// Package report formats the results of the test suites.
package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Suite is the result of one suite. Its counts are of single cases.
type Suite struct {
	Name    string
	Passed  int
	Elapsed time.Duration
	// Note is shown in the table.
	Note string
	// Skips are the reasons why cases were not judged. Each skipped case is counted in one of them.
	Skips []Skip
	// Failures hold one entry for each failed case.
	Failures []Failure
	// Remarks are further lines that decide nothing.
	Remarks []string
}

// Skip is a number of cases that were skipped for the same reason.
type Skip struct {
	Reason string
	Count  int
}

// Failure is a case that failed.
type Failure struct {
	// Name names the case.
	Name string
	// What is the fault in one line.
	What string
	// Output is the case's output.
	Output []string
	// Rerun is the command that runs this case alone.
	Rerun string
}

// Skipped returns the number of skipped cases.
func (s Suite) Skipped() int {
	n := 0
	for _, skip := range s.Skips {
		n += skip.Count
	}
	return n
}

// AddSkips adds the reasons, grouping equal ones.
func (s *Suite) AddSkips(reasons ...string) {
	for _, reason := range reasons {
		i := slices.IndexFunc(s.Skips, func(skip Skip) bool { return skip.Reason == reason })
		if i < 0 {
			s.Skips = append(s.Skips, Skip{Reason: reason})
			i = len(s.Skips) - 1
		}
		s.Skips[i].Count++
	}
}

// Totals holds the sums of several suites.
type Totals struct {
	Passed, Failed, Skipped int
}

// String returns the line that ends a report.
func (t Totals) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", t.Passed, t.Failed, t.Skipped)
}

// Sum adds up the suites.
func Sum(suites []Suite) Totals {
	var t Totals
	for _, s := range suites {
		t.Passed += s.Passed
		t.Failed += len(s.Failures)
		t.Skipped += s.Skipped()
	}
	return t
}

// failuresShown is the number of failures of a suite that are shown with their output: further ones usually have the same cause.
const failuresShown = 20

// Write writes the table, the skips, the remarks, the failures and, as the last
// line, the totals.
func Write(w io.Writer, suites []Suite) error {
	var b strings.Builder
	writeTable(&b, suites)
	for _, s := range suites {
		writeSkips(&b, s)
	}
	for _, s := range suites {
		for _, remark := range s.Remarks {
			fmt.Fprintf(&b, "\n%s: %s\n", s.Name, remark)
		}
	}
	for _, s := range suites {
		for i, failure := range s.Failures {
			if i == failuresShown {
				fmt.Fprintf(&b, "\nFurther failures of %s, without their output:\n", s.Name)
			}
			if i >= failuresShown {
				failure.Output = nil
			}
			writeFailure(&b, s.Name, failure)
		}
	}
	fmt.Fprintf(&b, "\n%s\n", Sum(suites))
	_, err := io.WriteString(w, b.String())
	return err
}

func writeTable(w io.Writer, suites []Suite) {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.AppendHeader(table.Row{"suite", "passed", "failed", "skipped", "time", "note"})
	configs := []table.ColumnConfig{{Name: "note", WidthMax: 60}}
	for _, name := range []string{"passed", "failed", "skipped", "time"} {
		configs = append(configs, table.ColumnConfig{Name: name, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(configs)
	for _, s := range suites {
		elapsed := s.Elapsed.Round(100 * time.Millisecond)
		t.AppendRow(table.Row{s.Name, s.Passed, len(s.Failures), s.Skipped(), elapsed, s.Note})
	}
	fmt.Fprintf(w, "\n%s\n", t.Render())
}

// writeSkips lists the most common reasons first.
func writeSkips(w io.Writer, s Suite) {
	if len(s.Skips) == 0 {
		return
	}
	skips := slices.Clone(s.Skips)
	slices.SortFunc(skips, func(a, b Skip) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason))
	})
	fmt.Fprintf(w, "\n%s skipped %d:\n", s.Name, s.Skipped())
	for _, skip := range skips {
		fmt.Fprintf(w, "%6d  %s\n", skip.Count, skip.Reason)
	}
}

func writeFailure(w io.Writer, suite string, f Failure) {
	fmt.Fprintf(w, "\nFAIL %s: %s: %s\n", suite, f.Name, f.What)
	for _, line := range f.Output {
		fmt.Fprintf(w, "    %s\n", printable(line))
	}
	if f.Rerun != "" {
		fmt.Fprintf(w, "  rerun: %s\n", f.Rerun)
	}
}

// printable replaces characters that control a terminal or a pager.
func printable(line string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return '.'
	}, line)
}

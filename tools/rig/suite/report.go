package suite

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Result is the result of a suite, or of a part of one. Its counts are of single cases.
type Result struct {
	Name    string
	Passed  int
	Elapsed time.Duration
	// Note is shown in the table.
	Note string
	// Incomplete says what of the suite did not run here, if anything, so that it proves less than elsewhere.
	Incomplete string
	// Skips are the reasons why cases were not judged.
	Skips []string
	// Failures hold one entry for each failed case.
	Failures []Failure
}

// Failure is a case that failed: its name, the fault in one line, and the end of its output.
type Failure struct{ Name, What, Output string }

// excerptLines is how much of a failed test's output is shown: the end or, of a panic, the beginning, which says why.
const excerptLines = 30

func (r *Result) fail(name, what, output string) {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	if at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "panic: ") }); at >= 0 {
		lines = lines[at:min(at+excerptLines, len(lines))]
	} else if cut := len(lines) - excerptLines; cut > 0 {
		lines = append([]string{fmt.Sprintf("[%d lines left out]", cut)}, lines[cut:]...)
	}
	r.Failures = append(r.Failures, Failure{name, what, strings.Join(lines, "\n    ")})
}

func (r *Result) skip(reason string) { r.Skips = append(r.Skips, reason) }

// note adds to the note.
func (r *Result) note(format string, args ...any) {
	r.Note = strings.TrimPrefix(r.Note+"; "+fmt.Sprintf(format, args...), "; ")
}

// ErrFailed means that a test failed; the report says which.
var ErrFailed = errors.New("failed")

// Incomplete returns a paragraph about each thing that did not run, and the suites that it belongs to, or nothing.
func Incomplete(results []Result) string {
	var b strings.Builder
	suites := map[string][]string{}
	for _, r := range results {
		suites[r.Incomplete] = append(suites[r.Incomplete], r.Name)
	}
	delete(suites, "")
	for _, what := range slices.Sorted(maps.Keys(suites)) {
		fmt.Fprintf(&b, "\nINCOMPLETE: %s: %s\n", strings.Join(suites[what], ", "), what)
	}
	return Redact(b.String())
}

// Write writes the table, the skips, the most common reason first, the failures, what did not run and, as the last line, the totals,
// without the passwords that a test's output may contain.
func Write(w io.Writer, results []Result) error {
	var b, skips, failures strings.Builder
	var passed, failed, skipped int
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "\nsuite\tpassed\tfailed\tskipped\ttime\tnote\n")
	for _, r := range results {
		passed, failed, skipped = passed+r.Passed, failed+len(r.Failures), skipped+len(r.Skips)
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%v\t%s\n", r.Name, r.Passed, len(r.Failures), len(r.Skips),
			r.Elapsed.Round(time.Second), r.Note)
		counts := map[string]int{}
		for _, reason := range r.Skips {
			counts[reason]++
		}
		if len(counts) > 0 {
			fmt.Fprintf(&skips, "\n%s skipped %d:\n", r.Name, len(r.Skips))
		}
		for _, reason := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
			return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
		}) {
			fmt.Fprintf(&skips, "%6d  %s\n", counts[reason], reason)
		}
		for _, f := range r.Failures {
			fmt.Fprintf(&failures, "\nFAIL %s: %s: %s\n    %s\n", r.Name, f.Name, f.What, f.Output)
		}
	}
	_ = table.Flush() // to memory
	fmt.Fprintf(&b, "%v%v%s\n%d passed, %d failed, %d skipped\n", &skips, &failures, Incomplete(results), passed, failed, skipped)
	_, err := io.WriteString(w, Redact(b.String()))
	if err == nil && failed > 0 {
		err = ErrFailed
	}
	return err
}

var (
	// user is the part before the host of a connection string. An unescaped password, which may be why the string was refused,
	// can contain the characters that end it, so the last @ counts.
	user = regexp.MustCompile(`(?i)(mongodb(?:\+srv)?://)[^\s"'` + "`" + `]*@`)
	// option is an option of a connection string that may hold a secret.
	option = regexp.MustCompile(
		`(?i)\b((?:tlsCertificateKeyFilePassword|sslClientCertificateKeyPassword|authMechanismProperties|proxyPassword)=)` +
			`[^&\s"'` + "`" + `]+`)
)

// Redact returns a text without the users, passwords and other secrets of the connection strings in it.
func Redact(text string) string {
	text = user.ReplaceAllString(text, "${1}xxxxx@")
	return option.ReplaceAllString(text, "${1}xxxxx")
}

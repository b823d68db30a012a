package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"mongofork/tools/rig/pypi"
	"mongofork/tools/rig/server"
)

const (
	repeatLimit = 150 // the largest number of failed tests that are repeated. If more fail, the fork is broken.
	attempts    = 3   // how often upstream's tests that fail in the fork are repeated before they count
)

// versions are what tells apart reasons for the same skip.
var versions = regexp.MustCompile(`"?\d+(\.\d+)+"?`)

// judge runs the suite and adds its verdict to the result. Our tests have to pass. Each test of upstream's has to pass, or to fail in the
// untouched module in the same way at the same time, or to be in the skip list.
func (s *suite) judge(ctx context.Context) error {
	if err := s.prepare(ctx); err != nil {
		return err
	}
	result, err := s.run(ctx, s.Name, s.fork, s.command)
	if err == nil && slices.ContainsFunc(result.counted(), func(c testCase) bool { return c.unfinished }) {
		// A test that panics when the machine is slow takes those after it along.
		result, err = s.run(ctx, s.Name+", once more, because a process ended", s.fork, s.command)
	}
	if err != nil {
		return err
	}
	var doubtful []testCase
	for _, c := range result.counted() {
		listed, is := s.skips[c.key]
		switch {
		case c.outcome == passed:
			s.Passed++
		case c.outcome == skipped:
			_, why := c.said()
			s.skip(versions.ReplaceAllString(why, "N"))
		case is:
			s.skip(fmt.Sprintf("asserts what the fork does otherwise: %s (instead: %v)", listed.Reason, listed.Successor))
		case c.Test == "" || c.unfinished || s.own[c.function()]:
			s.fail(c.String(), "failed", c.output)
		default:
			doubtful = append(doubtful, c)
		}
	}
	s.check(result)
	if len(doubtful) <= repeatLimit {
		doubtful, err = s.appeal(ctx, doubtful)
	}
	for _, c := range doubtful {
		s.fail(c.String(), "fails in the fork, and does not fail so in the untouched module", c.output)
	}
	return err
}

// appeal repeats failed tests alone, in the untouched module and in the fork. It stops for a test when the test has failed in the untouched
// module in the same way, or has passed in the fork, or was repeated often enough. It returns those for which the fork is to blame.
func (s *suite) appeal(ctx context.Context, doubtful []testCase) ([]testCase, error) {
	for turn := 0; turn < 2*attempts && len(doubtful) > 0; turn++ {
		tree, label := s.pristine, ", untouched"
		if turn%2 == 1 {
			tree, label = s.fork, ", repeated"
		}
		result, err := s.run(ctx, s.Name+label, tree, s.command.only(doubtful))
		if err != nil {
			return nil, err
		}
		doubtful = slices.DeleteFunc(doubtful, func(c testCase) bool {
			again := result[c.key]
			where, _ := again.said()
			before, _ := c.said()
			switch {
			case tree == s.pristine && again.outcome == failed && where == before:
				s.skip("fails in the untouched module, too")
			case tree == s.fork && again.outcome == passed:
				s.Passed++
				s.note("passed when repeated: %v", c.key)
			default:
				return false
			}
			return true
		})
	}
	return doubtful, nil
}

// check adds a failure for each of our tests that did not run, for each of upstream's that the fork lacks, and for each entry of the skip
// list that is not needed. Examples run only if they state their output, and nothing runs if the whole package has failed.
func (s *suite) check(result cases) {
	for test := range s.must {
		ran := result[test].outcome != missing || result[key{Package: test.Package}].outcome == failed
		if !ran && !strings.HasPrefix(test.Test, "Example") {
			s.fail(test.String(), "did not run", "")
		}
	}
	if s.covers == nil {
		return
	}
	for test := range s.lost.in(s.covers) {
		if _, listed := s.skips[test]; !listed {
			s.fail(test.String(), "upstream has this test, but the fork does not; name it in "+s.skipFile()+
				" if that is right", "")
		}
	}
	for test, listed := range s.skips {
		switch {
		case !s.covers(test):
		case result[test].outcome == passed:
			s.fail(s.skipFile(), test.String()+" passes in the fork; remove the entry", "")
		case !s.lost[test] && result[test.function()].outcome == missing:
			s.fail(s.skipFile(), test.String()+" is not a test that was run; correct its name or remove the entry", "")
		case !s.own[listed.Successor]:
			s.fail(s.skipFile(), fmt.Sprintf("the overlay has no test %q; write it or correct the entry of %v",
				listed.Successor, test), "")
		}
	}
}

// prepare gets the specifications' tests. Most tests that need no server do without them; those that do not then fail in both trees.
func (s *suite) prepare(ctx context.Context) error {
	if s.revision == "" {
		return nil
	}
	project, err := s.Project(ctx, s.revision)
	s.Incomplete = project.Lacks
	if s.server == nil && !s.CI && errors.Is(err, pypi.ErrUnavailable) {
		s.Incomplete, err = "without the specifications' tests: "+err.Error(), nil
	}
	s.env = []string{"PROJECT_DIRECTORY=" + project.Dir}
	if s.Incomplete != "" {
		s.env = append(s.env, "SPECIFICATIONS_INCOMPLETE=1")
	}
	return err
}

// run runs tests in a tree, on a new server if they need one. What needs a newer one than the pinned mongod runs on the pinned SecantusDB.
func (s *suite) run(ctx context.Context, label, tree string, command command) (cases, error) {
	if s.server == nil {
		return s.test(ctx, label, tree, command, s.env...)
	}
	result, on, err := s.runOn(ctx, *s.server, label, tree, command)
	if err != nil || on.Name != server.Pinned || s.server.Topology != "" {
		return result, err
	}
	wanting := slices.DeleteFunc(result.counted(), func(c testCase) bool {
		_, why := c.said()
		return c.outcome != skipped || !strings.Contains(why, "is lower than min")
	})
	if len(wanting) == 0 {
		return result, nil
	}
	newer, _, err := s.runOn(ctx, server.Config{Name: server.SecantusDB}, label, tree, command.only(wanting))
	result.add(newer)
	return result, err
}

// runOn runs tests on a new server, and notes what ran where, once for each kind of server.
func (s *suite) runOn(ctx context.Context, cfg server.Config, label, tree string, command command) (
	result cases, on *server.Deployment, err error) {
	cfg.Root, cfg.Progress = s.Root, s.Log.Writer()
	if on, err = s.Open(ctx, cfg); err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, on.Stop()) }()
	// The packages share the server and its fail points, so they run one after the other.
	command.flags = append(slices.Clip(command.flags), "-p=1", fresh)
	result, err = s.test(ctx, label+" on "+on.String(), tree, command, append(slices.Clip(s.env), on.Env()...)...)
	if where := "on " + on.String(); err == nil && !strings.Contains(s.Note, where) {
		s.note("%d %s", result.count(passed), where)
	}
	return result, on, err
}

// Result is the result of a suite, or of a part of one. Its counts are of single cases.
type Result struct {
	Name       string
	Passed     int
	Elapsed    time.Duration
	Note       string    // shown in the table
	Incomplete string    // says what of the suite did not run here, if anything, so that it proves less than elsewhere
	Skips      []string  // the reasons why cases were not judged
	Failures   []Failure // hold one entry for each failed case
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

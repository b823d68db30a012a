package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mongofork/tools/gotest"
	"mongofork/tools/rig/pypi"
	"mongofork/tools/rig/server"
)

const (
	// repeatLimit is the largest number of failed tests that are repeated. If more fail, the fork is broken.
	repeatLimit = 150
	// attempts is how often upstream's tests that fail in the fork are repeated before they count.
	attempts = 3
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
	if err == nil && slices.ContainsFunc(result.Cases(), gotest.Case.Unfinished) {
		// A test that panics when the machine is slow takes those after it along.
		result, err = s.run(ctx, s.Name+", once more, because a process ended", s.fork, s.command)
	}
	if err != nil {
		return err
	}
	var doubtful []gotest.Case
	for _, c := range result.Cases() {
		listed, is := s.skips[c.Key]
		switch {
		case c.Outcome == gotest.Passed:
			s.Passed++
		case c.Outcome == gotest.Skipped:
			_, why := c.Said()
			s.skip(versions.ReplaceAllString(why, "N"))
		case is:
			s.skip(fmt.Sprintf("asserts what the fork does otherwise: %s (instead: %v)", listed.reason, listed.successor))
		case c.Test == "" || c.Unfinished() || s.own[c.Function()]:
			s.fail(c.String(), "failed", c.Output)
		default:
			doubtful = append(doubtful, c)
		}
	}
	s.checkRan(result)
	if s.covers != nil {
		s.checkList(result)
	}
	if len(doubtful) <= repeatLimit {
		doubtful, err = s.appeal(ctx, doubtful)
	}
	for _, c := range doubtful {
		s.fail(c.String(), "fails in the fork, and does not fail so in the untouched module", c.Output)
	}
	return err
}

// appeal repeats failed tests alone, in the untouched module and in the fork. It stops for a test when the test has failed in the untouched
// module in the same way, or has passed in the fork, or was repeated often enough. It returns those for which the fork is to blame.
func (s *suite) appeal(ctx context.Context, failed []gotest.Case) ([]gotest.Case, error) {
	for turn := 0; turn < 2*attempts && len(failed) > 0; turn++ {
		tree, label := s.pristine, ", untouched"
		if turn%2 == 1 {
			tree, label = s.fork, ", repeated"
		}
		result, err := s.run(ctx, s.Name+label, tree, s.command.Only(failed))
		if err != nil {
			return nil, err
		}
		failed = slices.DeleteFunc(failed, func(c gotest.Case) bool {
			again := result[c.Key]
			where, _ := again.Said()
			before, _ := c.Said()
			switch {
			case tree == s.pristine && again.Outcome == gotest.Failed && where == before:
				s.skip("fails in the untouched module, too")
			case tree == s.fork && again.Outcome == gotest.Passed:
				s.Passed++
				s.note("passed when repeated: %v", c.Key)
			default:
				return false
			}
			return true
		})
	}
	return failed, nil
}

// checkRan adds a failure for each of our tests that did not run. Examples run only if they state their output, and nothing runs if the
// whole package has failed.
func (s *suite) checkRan(result gotest.Result) {
	for test := range s.must {
		ran := result[test].Outcome != gotest.Missing || result[gotest.Key{Package: test.Package}].Outcome == gotest.Failed
		if !ran && !strings.HasPrefix(test.Test, "Example") {
			s.fail(test.String(), "did not run", "")
		}
	}
}

// checkList adds a failure for each of upstream's tests that the fork lacks, and for each entry of the skip list that is not needed.
func (s *suite) checkList(result gotest.Result) {
	for test := range s.lost.in(s.covers) {
		if _, listed := s.skips[test]; !listed {
			s.fail(test.String(), "upstream has this test, but the fork does not; name it in "+s.skipFile()+
				" if that is right", "")
		}
	}
	for test, listed := range s.skips {
		switch {
		case !s.covers(test):
		case result[test].Outcome == gotest.Passed:
			s.fail(s.skipFile(), test.String()+" passes in the fork; remove the entry", "")
		case !s.lost[test] && result[test.Function()].Outcome == gotest.Missing:
			s.fail(s.skipFile(), test.String()+" is not a test that was run; correct its name or remove the entry", "")
		case !s.own[listed.successor]:
			s.fail(s.skipFile(), fmt.Sprintf("the overlay has no test %q; write it or correct the entry of %v",
				listed.successor, test), "")
		}
	}
}

// prepare gets the specifications' tests. Most tests that need no server do without them; those that do not then fail in both trees.
func (s *suite) prepare(ctx context.Context) error {
	if s.revision == "" {
		return nil
	}
	project, err := s.Project(ctx, s.revision)
	s.project, s.Incomplete = project.Dir, project.Lacks
	if s.server == nil && !s.CI && errors.Is(err, pypi.ErrUnavailable) {
		s.Incomplete = "without the specifications' tests: " + err.Error()
		s.project, err = filepath.Join(os.TempDir(), "no-specifications"), nil
	}
	return err
}

// specifications is the environment by which tests find those of the specifications, and know that some are lacking.
func (s *suite) specifications() []string {
	env := []string{"PROJECT_DIRECTORY=" + s.project}
	if s.Incomplete != "" {
		env = append(env, "SPECIFICATIONS_INCOMPLETE=1")
	}
	return env
}

// run runs tests in a tree, on a new server if they need one. What needs a newer one than the pinned mongod runs on the pinned SecantusDB.
func (s *suite) run(ctx context.Context, label, tree string, command gotest.Command) (gotest.Result, error) {
	if s.server == nil {
		return s.test(ctx, label, tree, command, s.specifications()...)
	}
	result, on, err := s.runOn(ctx, *s.server, label, tree, command)
	if err != nil || on.Name != server.Pinned || s.server.Topology != "" {
		return result, err
	}
	wanting := slices.DeleteFunc(result.Cases(), func(c gotest.Case) bool {
		_, why := c.Said()
		return c.Outcome != gotest.Skipped || !strings.Contains(why, "is lower than min")
	})
	if len(wanting) == 0 {
		return result, nil
	}
	newer, _, err := s.runOn(ctx, server.Config{Name: server.SecantusDB}, label, tree, command.Only(wanting))
	result.Add(newer)
	return result, err
}

// runOn runs tests on a new server, and notes what ran where, once for each kind of server.
func (s *suite) runOn(ctx context.Context, cfg server.Config, label, tree string, command gotest.Command) (
	result gotest.Result, on *server.Deployment, err error) {
	cfg.Root, cfg.Progress = s.Root, s.Log.Writer()
	if on, err = s.Open(ctx, cfg); err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, on.Stop()) }()
	// The packages share the server and its fail points, so they run one after the other.
	command.Flags = append(slices.Clip(command.Flags), "-p=1", gotest.Fresh)
	result, err = s.test(ctx, label+" on "+on.String(), tree, command, append(s.specifications(), on.Env()...)...)
	if where := "on " + on.String(); err == nil && !strings.Contains(s.Note, where) {
		s.note("%d %s", result.Count(gotest.Passed), where)
	}
	return result, on, err
}

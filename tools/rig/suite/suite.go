// Package suite runs upstream's tests in the fork, and the tests that the overlay adds. It compares the results of upstream's tests with
// those in the untouched module.
package suite

import (
	"context"
	"errors"
	"log"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"mongofork/tools/rig/pypi"
	"mongofork/tools/rig/server"
	"mongofork/tools/rig/specs"
)

// Rig runs suites. All fields but CI and Race are required.
type Rig struct {
	// Root is the root of the repository, Base the version of upstream that the fork is built on.
	Root, Base string
	// Revisions are those of the specifications that the base's tests and the fork are for.
	Revisions specs.Base
	// CI makes anything unavailable a failure instead of a skip.
	CI bool
	// Race runs our tests with the race detector.
	Race bool
	// Environ is the environment of the children.
	Environ []string
	// Project returns a revision's tests.
	Project func(ctx context.Context, revision string) (specs.Project, error)
	// Open finds or starts a server.
	Open func(context.Context, server.Config) (*server.Deployment, error)
	// Log receives progress messages.
	Log *log.Logger

	run func(context.Context, command) (cases, error) // instead of goTest
}

// Packages runs all tests of some packages, as far as they need no server, in a tree that is to become the fork, below the root.
func (r *Rig) Packages(ctx context.Context, tree string, packages []string) ([]Result, error) {
	return r.each(ctx, tree, func(t trees) []*suite {
		return []*suite{{trees: t, Result: Result{Name: "packages"},
			command: command{flags: []string{"-short"}, packages: packages}}}
	})
}

// Run runs the named suites and returns the results of their parts.
func (r *Rig) Run(ctx context.Context, names []string) ([]Result, error) {
	return r.each(ctx, path.Join("build", r.Base), func(t trees) (suites []*suite) {
		for _, name := range names {
			suites = append(suites, t.suites(ctx, name)...)
		}
		return suites
	})
}

// each runs suites in a tree. They run at the same time unless they would share a server, because most wait for a server of their own most
// of the time.
func (r *Rig) each(ctx context.Context, tree string, suites func(trees) []*suite) (results []Result, err error) {
	t, err := r.readTrees(tree)
	if err != nil {
		return nil, err
	}
	var running errgroup.Group
	if os.Getenv("MONGODB_URI") != "" {
		running.SetLimit(1)
	}
	all := suites(t)
	for _, s := range all {
		running.Go(func() error {
			s.timed(ctx)
			return nil
		})
	}
	_ = running.Wait() // what went wrong is in the results
	for _, s := range all {
		results = append(results, s.Result)
	}
	return results, nil
}

// timed runs a suite. An error is one more failed case, or a skipped one if it says that something is not available here.
func (s *suite) timed(ctx context.Context) {
	s.Log.Printf("%s ...", s.Name)
	start := time.Now()
	err := s.judge(ctx)
	s.Elapsed = time.Since(start)
	switch {
	case ctx.Err() != nil: // no skip: an interrupted run must not look like a good one
		s.fail(s.Name, "interrupted; run it again", "")
	case err == nil:
	case errors.Is(err, pypi.ErrUnavailable) && !s.CI:
		s.Incomplete = "not run: " + err.Error()
		s.skip("not run")
	default:
		what, output, _ := strings.Cut(err.Error(), "\n")
		s.fail(s.Name, what, output)
	}
}

// file returns the path of a file of the repository.
func (r *Rig) file(slashed string) string { return filepath.Join(r.Root, filepath.FromSlash(slashed)) }

// test runs a command in a folder below the root, and reports the outcome. The environment is the rig's own without what would make runs
// differ, and with the given assignments.
func (r *Rig) test(ctx context.Context, label, folder string, c command, assignments ...string) (cases, error) {
	c.dir = r.file(folder)
	c.env = slices.Concat(r.Environ, []string{"MONGODB_URI=", "PROJECT_DIRECTORY=", "SPECIFICATIONS_INCOMPLETE=", "GOWORK=off"},
		assignments)
	run := goTest
	if r.run != nil {
		run = r.run
	}
	result, err := run(ctx, c)
	if err == nil {
		r.Log.Printf("  %s: %d passed, %d failed, %d skipped", label,
			result.count(passed), result.count(failed), result.count(skipped))
	}
	return result, err
}

// OwnTests returns the overlay's tests that need no server, by the folder of their package, and the environment that they need, in a copy
// of the fork below the root.
func (r *Rig) OwnTests(ctx context.Context, tree string) (byFolder map[string][]string, env []string, err error) {
	t, err := r.readTrees(tree)
	if err != nil {
		return nil, nil, err
	}
	ours := t.ours()
	byFolder = map[string][]string{}
	for test := range ours.must {
		folder := path.Clean(test.Package)
		byFolder[folder] = append(byFolder[folder], test.Test)
	}
	err = ours.prepare(ctx)
	return byFolder, ours.env, err
}

// Package suite runs upstream's tests in the fork, and those that the overlay adds. The untouched module judges upstream's.
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
	"sync"
	"time"

	"mongofork/tools/gotest"
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
	// Project returns the PROJECT_DIRECTORY for a revision's tests.
	Project func(ctx context.Context, revision string) (string, error)
	// Open finds or starts a server.
	Open func(context.Context, server.Config) (*server.Server, error)
	// GoTest is gotest.Go.
	GoTest func(context.Context, gotest.Command) (gotest.Result, error)
	// Log receives progress messages.
	Log *log.Logger
}

// Default are the suites that run if none is named, Extra those that run only if they are.
var (
	Default = []string{"fork", "upstream", "spec"}
	Extra   = []string{"integration", "topologies"}
)

// part is a part of a suite with a result of its own.
type part struct {
	name string
	run  func(context.Context, *Result) error
}

// parts returns the parts of a suite.
func (w work) parts(suite string) []part {
	switch suite {
	case "fork":
		return []part{w.ours()}
	case "upstream":
		return []part{{suite, w.upstream}}
	case "spec":
		return []part{w.spec()}
	case "integration":
		return w.integration()
	default:
		return w.topologies()
	}
}

// Packages runs all tests of some packages, as far as they need no server, in a tree that is to become the fork, below the root.
func (r *Rig) Packages(ctx context.Context, tree string, packages []string) ([]Result, error) {
	w, err := r.work(tree)
	if err != nil {
		return nil, err
	}
	j := judge{work: w, command: gotest.Command{Flags: moduleFlags("-short"), Packages: packages}, run: w.locally("")}
	return []Result{r.timed(ctx, part{"packages", j.judge})}, nil
}

// Ours runs the tests that the overlay adds, and that need no server, in a copy of the fork, below the root. Nothing is taken from a cache:
// Go's does not know what a package reads from the environment before its tests begin, such as which defect is planted.
func (r *Rig) Ours(ctx context.Context, tree string) (Result, error) {
	w, err := r.work(tree)
	if err != nil {
		return Result{}, err
	}
	ours := w.ours(gotest.Fresh, "-timeout=5m") // which names the test that does not end
	result := Result{Name: ours.name}
	err = ours.run(ctx, &result) // of which a part of a run would make a failure, as if a test had found the defect
	return result, err
}

// Run runs the named suites and returns the results of their parts. Most of them wait for a server most of the time, each for its own,
// so they run side by side, unless they would share one.
func (r *Rig) Run(ctx context.Context, names []string) ([]Result, error) {
	w, err := r.work(path.Join("build", r.Base))
	if err != nil {
		return nil, err
	}
	var parts []part
	for _, name := range names {
		parts = append(parts, w.parts(name)...)
	}
	results := make([]Result, len(parts))
	var running sync.WaitGroup
	for i, p := range parts {
		running.Go(func() { results[i] = r.timed(ctx, p) })
		if os.Getenv("MONGODB_URI") != "" {
			running.Wait()
		}
	}
	running.Wait()
	return results, nil
}

// timed runs a part. An error is one more failed case, or a skipped one if it says that something is not available here.
func (r *Rig) timed(ctx context.Context, p part) Result {
	result := Result{Name: p.name}
	if ctx.Err() != nil {
		// Not a skip: an interrupted run must not look like a good one.
		result.fail(p.name, "not run: interrupted", "")
		return result
	}
	r.Log.Printf("%s ...", p.name)
	start := time.Now()
	err := p.run(ctx, &result)
	result.Elapsed = time.Since(start)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		result.fail(p.name, "interrupted; run it again", "")
	case isUnavailable(err) && !r.CI:
		result.skip("not run: " + err.Error())
	default:
		what, output, _ := strings.Cut(err.Error(), "\n")
		result.fail(p.name, what, output)
	}
	return result
}

func isUnavailable(err error) bool {
	return errors.Is(err, server.ErrUnavailable) || errors.Is(err, specs.ErrUnavailable)
}

// file returns the path of a file of the repository.
func (r *Rig) file(slashed string) string { return filepath.Join(r.Root, filepath.FromSlash(slashed)) }

// test runs a command in a folder below the root, and reports the outcome. The environment is the rig's own without the variables that
// would make runs differ, and with the given assignments.
func (r *Rig) test(ctx context.Context, label, folder string, c gotest.Command, assignments ...string) (gotest.Result, error) {
	c.Dir = r.file(folder)
	c.Env = slices.DeleteFunc(slices.Clone(r.Environ), func(assignment string) bool {
		name, _, _ := strings.Cut(assignment, "=")
		return slices.Contains([]string{"MONGODB_URI", "SERVER", "PROJECT_DIRECTORY", "SPECIFICATIONS", "GOWORK"}, name)
	})
	c.Env = append(append(c.Env, "GOWORK=off"), assignments...) // whatever is above the repository
	result, err := r.GoTest(ctx, c)
	if err == nil {
		r.Log.Printf("  %s: %d passed, %d failed, %d skipped", label,
			result.Count(gotest.Passed), result.Count(gotest.Failed), result.Count(gotest.Skipped))
	}
	return result, err
}

// moduleFlags are the flags for every run in the built trees. With -trimpath both trees share compiled files. Upstream's own vet
// findings do not concern the tests.
func moduleFlags(more ...string) []string { return append([]string{"-trimpath", "-vet=off"}, more...) }

// locally runs tests that need no server, with the specifications' tests in a project, if there is one.
func (w work) locally(project string) runner {
	return func(ctx context.Context, label, tree string, command gotest.Command) (gotest.Result, error) {
		return w.test(ctx, label, tree, command, "PROJECT_DIRECTORY="+project)
	}
}

// ours runs the tests that the overlay adds, except those that need a server, which belong to spec.
func (w work) ours(more ...string) part {
	return part{"fork", func(ctx context.Context, r *Result) error {
		project, _ := w.Project(ctx, w.Revisions.Fork) // tests of the specification that the fork implements are skipped without them
		flags := moduleFlags(more...)
		if w.Race {
			flags = append(flags, "-race")
		}
		own := w.own.in(needsNoServer)
		command := gotest.Command{Flags: flags, Packages: own.packages(), Run: gotest.AnyOf(own.names())}
		return judge{work: w, command: command, run: w.locally(project), must: own}.judge(ctx, r)
	}}
}

// upstream runs all of upstream's tests that need no server.
func (w work) upstream(ctx context.Context, r *Result) error {
	project, err := w.Project(ctx, w.Revisions.Upstream)
	if isUnavailable(err) && !w.CI {
		// Most tests do without them; those that do not then fail in both trees.
		r.note("without the specification tests")
		project = filepath.Join(os.TempDir(), "no-specifications")
	} else if err != nil {
		return err
	}
	command := gotest.Command{Flags: moduleFlags("-short", w.withoutOurs()), Packages: []string{"./..."}}
	return judge{work: w, command: command, run: w.locally(project), covers: needsNoServer}.judge(ctx, r)
}

// withoutOurs is the flag that leaves out our tests, except those that have the name of one of upstream's in some package, and others.
func (w work) withoutOurs(others ...string) string {
	theirs := w.theirs.names()
	ours := slices.DeleteFunc(w.own.names(), func(name string) bool { return slices.Contains(theirs, name) })
	return "-skip=" + gotest.AnyOf(append(ours, others...))
}

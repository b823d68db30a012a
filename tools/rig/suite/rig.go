// Package suite runs upstream's tests in the fork, and those that the overlay adds. The untouched module judges upstream's.
package suite

import (
	"context"
	"errors"
	"fmt"
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
	GoTest func(context.Context, gotest.Command) (*gotest.Result, error)
	// Log receives progress messages.
	Log *log.Logger
}

// work is a Rig with the trees: the fork in build/<base>, and the untouched module in build/pristine/<base>.
type work struct {
	*Rig
	*trees
	skips []gotest.Skip
}

// part is a part of a suite with a result of its own.
type part struct {
	name string
	run  func(context.Context, *Result) error
}

// Default are the suites that run if none is named.
var Default = []string{"fork", "upstream", "spec"}

// Extra are the suites that run only if they are named.
var Extra = []string{"integration", "topologies"}

// parts returns the parts of a suite.
func (w work) parts(suite string) []part {
	switch suite {
	case "fork":
		return []part{{suite, w.ours}}
	case "upstream":
		return []part{{suite, w.upstream}}
	case "spec":
		return w.spec()
	case "integration":
		return w.integration()
	default:
		return w.topologies()
	}
}

// work reads the trees.
func (r *Rig) work(fork string) (work, error) {
	trees, err := readTrees(r.Root, r.Base, fork)
	if err != nil {
		return work{}, fmt.Errorf("%w (make trees builds them)", err)
	}
	skips, err := gotest.ReadSkips(r.file(r.skipFile()))
	return work{r, trees, skips}, err
}

// Packages runs all tests of some packages, as far as they need no server, in a tree that is to become the fork, below the root.
func (r *Rig) Packages(ctx context.Context, tree string, packages []string) ([]Result, error) {
	w, err := r.work(tree)
	if err != nil {
		return nil, err
	}
	command := gotest.Command{Flags: moduleFlags("-short"), Packages: packages}
	return []Result{r.timed(ctx, part{"packages", w.judged(command, w.locally()).judge})}, nil
}

// Ours runs the tests that the overlay adds, and that need no server, in a copy of the fork, below the root.
func (r *Rig) Ours(ctx context.Context, tree string) (Result, error) {
	w, err := r.work(tree)
	if err != nil {
		return Result{}, err
	}
	return r.timed(ctx, part{"fork", w.ours}), nil
}

// Run runs the named suites and returns the results of their parts.
func (r *Rig) Run(ctx context.Context, names []string) ([]Result, error) {
	w, err := r.work(path.Join("build", r.Base))
	if err != nil {
		return nil, err
	}
	var parts []part
	for _, name := range names {
		parts = append(parts, w.parts(name)...)
	}
	return r.sideBySide(ctx, parts), nil
}

// sideBySide runs parts. Most of them wait for a server most of the time, each for its own, so they run side by side, unless they would
// share one.
func (r *Rig) sideBySide(ctx context.Context, parts []part) []Result {
	results := make([]Result, len(parts))
	var running sync.WaitGroup
	for i, p := range parts {
		running.Go(func() { results[i] = r.timed(ctx, p) })
		if os.Getenv("MONGODB_URI") != "" {
			running.Wait()
		}
	}
	running.Wait()
	return results
}

// timed runs a part. An error is one more failed case, or a skipped one if it says that something is not available here.
func (r *Rig) timed(ctx context.Context, p part) Result {
	result := Result{Name: p.name}
	if ctx.Err() != nil {
		// Not a skip: an interrupted run must not look like a good one.
		result.fail(p.name, "not run: interrupted")
		return result
	}
	r.Log.Printf("%s ...", p.name)
	start := time.Now()
	err := p.run(ctx, &result)
	result.Elapsed = time.Since(start)
	switch {
	case err == nil:
	case isUnavailable(err) && !r.CI:
		result.skip("not run: " + err.Error())
	default:
		what, output, _ := strings.Cut(err.Error(), "\n")
		result.fail(p.name, what, strings.Split(output, "\n")...)
	}
	return result
}

func isUnavailable(err error) bool {
	return errors.Is(err, server.ErrUnavailable) || errors.Is(err, specs.ErrUnavailable)
}

// open finds or starts a server.
func (r *Rig) open(ctx context.Context, cfg server.Config) (*server.Server, error) {
	cfg.Root, cfg.Progress = r.Root, r.Log.Writer()
	return r.Open(ctx, cfg)
}

// env returns the environment of a child: the rig's own without the variables that would make runs differ, and with the given
// assignments.
func (r *Rig) env(assignments ...string) []string {
	var env []string
	for _, assignment := range r.Environ {
		switch name, _, _ := strings.Cut(assignment, "="); name {
		case "MONGODB_URI", "SERVER", "PROJECT_DIRECTORY", "SPECIFICATIONS", "GOWORK":
		default:
			env = append(env, assignment)
		}
	}
	// Ignore any go.work above the repository.
	return slices.Concat(env, []string{"GOWORK=off"}, assignments)
}

// file returns the path of a file of the repository.
func (r *Rig) file(slashed ...string) string {
	return filepath.Join(r.Root, filepath.FromSlash(path.Join(slashed...)))
}

// skipFile is the skip list's path below the root.
func (r *Rig) skipFile() string { return "etc/bases/" + r.Base + "/skips" }

// test runs a command of which the folder is below the root, and reports the outcome.
func (r *Rig) test(ctx context.Context, label, folder string, c gotest.Command, env ...string) (*gotest.Result, error) {
	c.Dir, c.Env = r.file(folder), r.env(env...)
	result, err := r.GoTest(ctx, c)
	if err == nil {
		n := result.Count()
		r.Log.Printf("  %s: %d passed, %d failed, %d skipped", label, n.Passed, n.Failed, n.Skipped)
	}
	return result, err
}

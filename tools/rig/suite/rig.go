// Package suite runs the project's test suites: those of the repository itself, and upstream's in the fork, judged by the
// untouched module.
package suite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"mongofork/tools/gotest"
	"mongofork/tools/rig/server"
	"mongofork/tools/rig/specs"
)

// Rig runs suites. All fields but CI and Quick are required.
type Rig struct {
	// Root is the root of the repository, Base the version of upstream that the fork is built on.
	Root, Base string
	// Revisions are those of the specifications that the base's tests and the fork are for.
	Revisions specs.Base
	// CI makes anything unavailable a failure instead of a skip.
	CI bool
	// Quick leaves the race detector out.
	Quick bool
	// Environ is the environment of the children.
	Environ []string
	// Build writes the fork to build/<base>, and the untouched module to build/pristine/<base>. It returns the paths of the
	// overlay's files that are in the fork.
	Build func(ctx context.Context) (overlay []string, err error)
	// Project returns the PROJECT_DIRECTORY for a revision's tests.
	Project func(ctx context.Context, revision string) (string, error)
	// Open finds or starts a server.
	Open func(context.Context, server.Config) (*server.Server, error)
	// GoTest is gotest.Go.
	GoTest func(context.Context, gotest.Command) (*gotest.Result, error)
	// Log receives progress messages.
	Log *log.Logger

	// absent has the errors of what is not available, so that each is searched for and reported once.
	absent sync.Map
}

// work is a Rig with the trees, which are built.
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

// suite is one of the suites.
type suite struct {
	name string
	// extra suites run only if they are named.
	extra bool
	// waits is whether it waits for servers most of the time. Such suites run beside the others, which need the processors.
	waits bool
	parts func(work) []part
}

func suites() []suite {
	alone := func(run func(work, context.Context, *Result) error) func(work) []part {
		return func(w work) []part {
			return []part{{"", func(ctx context.Context, r *Result) error { return run(w, ctx, r) }}}
		}
	}
	return []suite{
		{name: "modules", parts: alone(work.modules)},
		{name: "fork", parts: alone(work.ours)},
		{name: "upstream", parts: alone(work.upstream)},
		{name: "compare", parts: alone(work.compare)},
		{name: "spec", waits: true, parts: work.spec},
		{name: "soak", waits: true, parts: alone(work.soak)},
		{name: "limits", waits: true, parts: alone(work.limits)},
		{name: "cse", waits: true, parts: alone(work.cse)},
		{name: "integration", waits: true, extra: true, parts: work.integration},
		{name: "topologies", waits: true, extra: true, parts: work.topologies},
		{name: "throttling", waits: true, extra: true, parts: alone(work.throttling)},
	}
}

// Names lists the suites in the order of their runs, with those that run only if they are named, or without.
func Names(extra bool) []string {
	var names []string
	for _, s := range suites() {
		if extra || !s.extra {
			names = append(names, s.name)
		}
	}
	return names
}

// Run runs the named suites and returns the results of their parts.
func (r *Rig) Run(ctx context.Context, names []string) []Result {
	var w work
	building := r.timed(ctx, part{"build", func(ctx context.Context, _ *Result) (err error) {
		w, err = r.build(ctx)
		return err
	}})
	if len(building.Failures)+len(building.Skips) > 0 {
		return []Result{building}
	}
	var lanes errgroup.Group
	results := make([][]Result, 2)
	for lane, waits := range []bool{false, true} {
		var parts []part
		for _, s := range suites() {
			if s.waits == waits && slices.Contains(names, s.name) {
				for _, p := range s.parts(w) {
					parts = append(parts, part{strings.TrimSpace(s.name + " " + p.name), p.run})
				}
			}
		}
		results[lane] = make([]Result, len(parts))
		lanes.Go(func() error {
			var beside errgroup.Group
			beside.SetLimit(1)
			if waits && !r.given() {
				beside.SetLimit(2) // each has its own servers
			}
			for i, p := range parts {
				beside.Go(func() error {
					results[lane][i] = r.timed(ctx, p)
					return nil
				})
			}
			return beside.Wait()
		})
	}
	_ = lanes.Wait() // none fails
	return slices.Concat(results...)
}

func (r *Rig) build(ctx context.Context) (w work, err error) {
	overlay, err := r.Build(ctx)
	if err != nil {
		return w, err
	}
	w.Rig = r
	if w.trees, err = readTrees(r.Root, r.Base, overlay); err != nil {
		return w, err
	}
	w.skips, err = gotest.ReadSkips(r.file(r.skipFile()))
	return w, err
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
	case isUnavailable(err) && !r.CI:
		result.skip("not run: " + err.Error())
		result.note("not run")
	default:
		what, output, _ := strings.Cut(err.Error(), "\n")
		result.fail(p.name, what, "", strings.Split(output, "\n")...)
	}
	r.Log.Printf("%s: %v", p.name, result.Elapsed.Round(time.Second))
	return result
}

func isUnavailable(err error) bool {
	return errors.Is(err, server.ErrUnavailable) || errors.Is(err, specs.ErrUnavailable)
}

// once calls get unless an earlier call for the same thing found that it is not available here.
func (r *Rig) once(thing string, get func() error) error {
	if err, known := r.absent.Load(thing); known {
		return err.(error) // which is all that is stored
	}
	err := get()
	if isUnavailable(err) {
		r.absent.Store(thing, err)
	}
	return err
}

// project returns the PROJECT_DIRECTORY for a revision's tests.
func (r *Rig) project(ctx context.Context, revision string) (project string, err error) {
	err = r.once("specifications "+revision, func() error {
		project, err = r.Project(ctx, revision)
		return err
	})
	return project, err
}

// open finds or starts a server.
func (r *Rig) open(ctx context.Context, cfg server.Config) (s *server.Server, err error) {
	err = r.once(fmt.Sprintf("%+v", cfg), func() error {
		cfg.Root, cfg.Progress = r.Root, r.Log.Writer()
		var said bytes.Buffer
		if cfg.Lab != "" {
			cfg.Progress = &said // it reports what it does while it serves
		}
		if s, err = r.Open(ctx, cfg); err != nil && said.Len() > 0 {
			err = fmt.Errorf("%w\n%s", err, said.Bytes())
		}
		return err
	})
	return s, err
}

// given reports whether all runs share the user's server, and so its fail points.
func (r *Rig) given() bool {
	return slices.ContainsFunc(r.Environ, func(assignment string) bool {
		value, isURI := strings.CutPrefix(assignment, "MONGODB_URI=")
		return isURI && value != ""
	})
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

// race returns the flag that enables the race detector, or a note that there is no C compiler, which it needs.
func (r *Rig) race(ctx context.Context) (flags []string, note string) {
	if r.Quick {
		return nil, ""
	}
	output, err := exec.CommandContext(ctx, "go", "env", "CGO_ENABLED", "CC").Output()
	fields := strings.Fields(string(output))
	if err == nil && len(fields) >= 2 && fields[0] == "1" {
		if _, err := exec.LookPath(fields[1]); err == nil {
			return []string{"-race"}, ""
		}
	}
	return nil, "without the race detector, which needs a C compiler"
}

// Package suite runs the project's test suites: those of the repository itself,
// and upstream's in the fork, judged against the untouched module.
package suite

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"mongofork/tools/gotest"
	"mongofork/tools/rig/report"
)

// Module is the path of upstream's module, and thereby of the fork.
const Module = "go.mongodb.org/mongo-driver/v2"

// ErrUnavailable means that a suite needs something that is not available on
// this machine. The text of an error that wraps it is one line.
var ErrUnavailable = errors.New("not available here")

// Server is a running MongoDB server.
type Server struct {
	// URI is the value of MONGODB_URI.
	URI string
	// Name names the server in the table.
	Name string
	// Binary is the mongod of real members that are not started yet; empty for a server.
	Binary string
	// Env is the environment in which upstream's tests find the server, if MONGODB_URI is not enough.
	Env []string
	// Mongod is whether it is a mongod started for us.
	Mongod bool
	// Close stops the server if it was started for us.
	Close func() error
}

// Rig runs suites. All fields but CI are required.
type Rig struct {
	// Root is the root of the repository.
	Root string
	// Base is the version of upstream that the fork is built on.
	Base string
	// Upstream is the revision of the specifications that upstream's tests are written for, Fork the one that the fork follows.
	Upstream, Fork string
	// CI makes anything unavailable a failure instead of a skip.
	CI bool
	// Environ is the environment of the children.
	Environ []string
	// Tests runs go test.
	Tests gotest.Runner
	// Tools runs other commands.
	Tools Tools
	// Builder writes the driver's trees.
	Builder Builder
	// Specifications returns the PROJECT_DIRECTORY for a revision's tests, or an
	// error that wraps ErrUnavailable.
	Specifications func(ctx context.Context, revision string) (string, error)
	// OpenServer finds or starts a server; its error wraps ErrUnavailable when
	// there is none.
	OpenServer func(ctx context.Context) (*Server, error)
	// Pinned reports whether OpenServer would take the pinned mongod. Then tests run on it, those that need a newer server run on
	// the other pinned one, and the outcomes in the untouched module are recorded.
	Pinned func(ctx context.Context) bool
	// OpenPinned starts a pinned server by its name.
	OpenPinned func(ctx context.Context, name string) (*Server, error)
	// OpenForm starts a replica set of three in one of the Forms.
	OpenForm func(ctx context.Context, form string) (*Server, error)
	// OpenBehindLab is like OpenServer for a server behind the lab, whose clients know no password.
	OpenBehindLab func(ctx context.Context) (*Server, error)
	// Platform is the system and the processor, such as linux/amd64.
	Platform string
	// OpenLimitable is like OpenServer for a server whose limits are to be switched on.
	OpenLimitable func(ctx context.Context) (*Server, error)
	// OpenLab starts a lab of a topology in front of a server.
	OpenLab func(ctx context.Context, topology, backend string) (*Lab, error)
	// OpenMembers is like OpenServer for real members, which the user starts with the server's Binary.
	OpenMembers func(ctx context.Context) (*Server, error)
	// Soak runs the soak with the driver of a folder below the root, on members or else on a server. It returns its report, and
	// an error if there was a violation.
	Soak func(ctx context.Context, driver string, server *Server) (string, error)
	// Limits exposes an application with the driver of a folder below the root to the limits of a server. It returns its report,
	// and an error if anything is wrong.
	Limits func(ctx context.Context, driver string, server *Server) (string, error)
	// Progress receives progress messages.
	Progress *Progress
	// Now is the clock that times suites.
	Now func() time.Time

	// trees and buildErr are the results of build, which works under the lock.
	building sync.Mutex
	trees    *trees
	buildErr error
	// absent holds the errors of things that are not available, so that each is searched for and reported once.
	absent sync.Map
	// choice is the result of usesPinned.
	choosing sync.Once
	choice   bool
	// tallies counts what ran where.
	tallies tallies
}

// Tools runs commands.
type Tools interface {
	// Run returns the command's standard output and standard error, even if it fails.
	Run(ctx context.Context, dir string, env []string, name string, args ...string) (string, error)
}

// Builder writes the driver's trees.
type Builder interface {
	// Build writes the fork of a base to build/<base>, and the untouched module to build/pristine/<base>. It returns the paths
	// of the overlay's files that are in the fork.
	Build(ctx context.Context, base string) (overlay []string, err error)
	// Link makes build/fork lead to the fork of a base.
	Link(base string) error
	// Verify builds the fork twice, and compares the results with each other and with the lock.
	Verify(ctx context.Context, base string) error
}

// Options select a part of a suite.
type Options struct {
	// Revision restricts the specification suites to one revision.
	Revision string
	// File restricts the specification suites to the test file of this name,
	// without ".json".
	File string
	// Throttled switches adaptiveThrottling on in all tests of the suite "fork", and restricts the suite "spec" to the tests about
	// overload, which run in the fork alone.
	Throttled bool
	// Quick leaves the race detector out of the suite "fork".
	Quick bool
	// Except lists the tests that may fail.
	Except []Exception
}

// Names lists the suites in the order of their runs.
func Names() []string {
	return []string{"check", "unit", "modules", "fork", "upstream", "spec", "soak", "limits"}
}

// waiting are the suites that wait for servers most of the time. They run beside the others, which need the processors.
var waiting = []string{"spec", "soak", "limits"}

// Run runs the named suites and returns their results, in their order. A suite with several results, such as one per revision,
// names them after itself.
func (r *Rig) Run(ctx context.Context, names []string, options Options) []report.Suite {
	results := make([][]report.Suite, len(names))
	var lanes sync.WaitGroup
	for _, beside := range []bool{false, true} {
		lanes.Go(func() {
			for i, name := range names {
				if slices.Contains(waiting, name) == beside {
					results[i] = r.named(ctx, fmt.Sprintf("%d/%d", i+1, len(names)), name, options)
				}
			}
		})
	}
	lanes.Wait()
	all := slices.Concat(results...)
	except(all, options.Except)
	if len(all) > 0 {
		last := &all[len(all)-1]
		last.Remarks = append(last.Remarks, r.tallies.table()...)
	}
	return all
}

// named runs one of the suites.
func (r *Rig) named(ctx context.Context, number, name string, options Options) []report.Suite {
	if ctx.Err() != nil {
		// Not a skip: an interrupted run must not look like a good one.
		return []report.Suite{failed(name, "not run: interrupted")}
	}
	r.Progress.Printf("[%s] %s", number, name)
	if name == "spec" {
		return r.spec(ctx, options)
	}
	run, ok := map[string]func(context.Context, *report.Suite) error{
		"check": r.check, "unit": r.unit, "modules": r.modules, "upstream": r.upstream,
		"soak": r.soak, "limits": r.limits,
		"fork": func(ctx context.Context, s *report.Suite) error { return r.fork(ctx, s, options) },
	}[name]
	if !ok {
		return []report.Suite{failed(name, "there is no suite of this name; there are "+strings.Join(Names(), ", "))}
	}
	s := r.timed(name, func(s *report.Suite) error { return run(ctx, s) })
	r.Progress.Printf("[%s] %s: %v", number, name, s.Elapsed.Round(time.Second))
	return []report.Suite{s}
}

// failed returns a suite that failed as a whole.
func failed(name, what string) report.Suite {
	return report.Suite{Name: name, Failures: []report.Failure{{Name: name, What: what}}}
}

// timed runs one suite. An error of the suite is one more failed case, or one skipped case if the error says that something is
// unavailable.
func (r *Rig) timed(name string, run func(*report.Suite) error) report.Suite {
	s := report.Suite{Name: name}
	start := r.Now()
	err := run(&s)
	s.Elapsed = r.Now().Sub(start)
	switch {
	case err == nil:
	case errors.Is(err, ErrUnavailable) && !r.CI:
		s.AddSkips("not run: " + err.Error())
		s.Note = joinNotes(s.Note, "not run")
	default:
		what, output, _ := strings.Cut(err.Error(), "\n")
		f := report.Failure{Name: name, What: what}
		if output != "" {
			f.Output = strings.Split(output, "\n")
		}
		s.Failures = append(s.Failures, f)
	}
	return s
}

// env returns the environment of a child: the rig's own without the variables that would make runs differ, and with the given
// assignments.
func (r *Rig) env(assignments ...string) []string {
	var env []string
	for _, assignment := range r.Environ {
		name, _, _ := strings.Cut(assignment, "=")
		switch name {
		case "MONGODB_URI", "SERVER", "PROJECT_DIRECTORY", "SPECIFICATIONS", "GOWORK":
		default:
			env = append(env, assignment)
		}
	}
	// Ignore any go.work above the repository.
	env = append(env, "GOWORK=off")
	return append(env, assignments...)
}

// file returns the path of a file of the repository.
func (r *Rig) file(slashed ...string) string {
	return filepath.Join(r.Root, filepath.FromSlash(path.Join(slashed...)))
}

// Package suite runs upstream's tests in the fork, and the tests that the overlay adds. It compares the results of upstream's tests with
// those in the untouched module.
package suite

import (
	"context"
	"errors"
	"fmt"
	"go/build"
	"io/fs"
	"log"
	"maps"
	"net"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"mongofork/tools/rig/pypi"
	"mongofork/tools/rig/server"
	"mongofork/tools/rig/specs"
	"mongofork/tools/strict"
)

// Rig runs suites. All fields but CI and Race are required.
type Rig struct {
	Root, Base string // the root of the repository, and the version of upstream that the fork is built on
	// Revisions are those of the specifications that the base's tests and the fork are for.
	Revisions specs.Base
	// CI makes anything unavailable a failure instead of a skip.
	CI      bool
	Race    bool                                                              // runs our tests with the race detector
	Environ []string                                                          // the environment of the children
	Project func(ctx context.Context, revision string) (specs.Project, error) // returns a revision's tests
	Open    func(context.Context, server.Config) (*server.Deployment, error)  // finds or starts a server
	Log     *log.Logger                                                       // receives progress messages

	run func(context.Context, command) (cases, error) // instead of goTest
}

// Packages runs all tests of some packages, as far as they need no server, in a tree that is to become the fork, below the root.
func (r *Rig) Packages(ctx context.Context, tree string, packages []string) ([]Result, error) {
	return r.each(ctx, tree, func(t trees) []*suite {
		return []*suite{{trees: t, Result: Result{Name: "packages"},
			command: command{flags: []string{"-short"}, packages: packages}}}
	})
}

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
	switch s.Elapsed = time.Since(start); {
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
func (r *Rig) OwnTests(ctx context.Context, tree string) (map[string][]string, []string, error) {
	t, err := r.readTrees(tree)
	if err != nil {
		return nil, nil, err
	}
	ours, byFolder := t.ours(), map[string][]string{}
	for test := range ours.must {
		folder := path.Clean(test.Package)
		byFolder[folder] = append(byFolder[folder], test.Test)
	}
	err = ours.prepare(ctx)
	return byFolder, ours.env, err
}

// Default are the suites that run if none is named, and All has those that run only if they are, too.
const (
	Default = "fork,upstream,spec"
	All     = Default + ",integration,topologies"
)

// unifiedTest runs the specifications' unified tests.
const unifiedTest = "TestUnifiedSpec"

// proseTests are upstream's tests, in internal/integration, that need members or routers of a deployment.
var proseTests = []string{
	"TestRetryableReadsProse", "TestRetryableWritesProse", "TestServerSelectionProse", "TestSDAMErrorHandling", "TestSDAMProse",
	"TestLoadBalancerSupport", "TestMongosPinning", "TestWriteErrorsWithLabels", "TestSessionsProse",
}

// suite is a run of tests in the fork, and its result.
type suite struct {
	trees
	Result
	// revision is that of the specifications' tests that these tests are for, if they read any, and env tells them where those are.
	revision string
	env      []string
	command  command
	server   *server.Config // the one that is started for them. Without it they need none.
	must     functions      // the tests of ours that have to run
	// covers says which of upstream's tests run. Of those no test may be lost, and every entry of the skip list has to be needed.
	covers func(key) bool
}

func (t trees) suites(ctx context.Context, name string) []*suite {
	switch name {
	case "fork":
		return []*suite{t.ours()}
	case "spec":
		return t.spec()
	case "integration":
		return t.integration(ctx)
	case "topologies":
		return t.topologies()
	}
	return []*suite{{trees: t, Result: Result{Name: name}, revision: t.Revisions.Upstream, covers: needsNoServer,
		command: command{flags: []string{"-short", t.withoutOurs()}, packages: []string{"./..."}}}}
}

// ours are the tests that the overlay adds, except those that need a server, which belong to spec.
func (t trees) ours() *suite {
	own := t.own.in(needsNoServer)
	return &suite{trees: t, Result: Result{Name: "fork"}, revision: t.Revisions.Fork, must: own,
		command: command{flags: []string{fmt.Sprintf("-race=%t", t.Race)}, run: anyOf(own.names()),
			packages: own.every(func(k key) string { return k.Package })}}
}

// long are the folders of unified tests that take as long as all others and our tests.
const long = "^" + unifiedTest + "$/^(client-side-operations-timeout|retryable-reads|retryable-writes|server-discovery-and-monitoring)$"

// spec are the unified tests, and all tests of the overlay that need a server, on real members. The fork's revision has all unified tests
// of upstream's revision, a few of them changed. The tests mostly wait, so they run as two halves at the same time.
func (t trees) spec() []*suite {
	most := t.unified("spec", server.Config{}, t.own.in(needsServer), unifiedTest)
	rest := t.unified("spec (long)", server.Config{}, nil)
	most.command.flags, rest.command.run = []string{"-skip=" + long}, long
	return []*suite{most, rest}
}

// unified are the named tests of upstream's, and ours, with the files of the fork's revision.
func (t trees) unified(name string, cfg server.Config, ours functions, theirs ...string) *suite {
	return &suite{trees: t, Result: Result{Name: name}, revision: t.Revisions.Fork, server: &cfg, must: ours, covers: isUnified,
		command: command{run: anyOf(append(ours.names(), theirs...)), packages: []string{unified, integration}}}
}

// topologies are the unified tests and the prose tests of the fork's revision, on SecantusDB, which knows all commands, or the given
// server, and on the sharded cluster and the load balancer that the lab makes of one.
func (t trees) topologies() (parts []*suite) {
	cfg := server.Config{Name: server.SecantusDB}
	if os.Getenv("MONGODB_URI") != "" {
		cfg.Name = server.Given
	}
	ours, theirs := t.own.in(isUnified), append(slices.Clip(proseTests), unifiedTest)
	parts = append(parts, t.unified("topologies without the lab", cfg, ours, theirs...))
	for _, lab := range []string{"sharded:2", "loadbalanced:2"} {
		s := t.unified("topologies "+lab, cfg, ours, theirs...)
		s.command.through = []string{t.file("build/lab"), "serve", "--topology", lab, "--"}
		s.covers = nil
		parts = append(parts, s)
	}
	return parts
}

// seedlistTest is a test of upstream's that looks up names of a zone. Where it can't, it panics, which ends the tests after it, too.
const seedlistTest, seedlistZone = "TestInitialDNSSeedlistDiscoverySpec", "test1.test.build.10gen.cc"

// integration are all of upstream's tests that need a server, on real members: as they are, and with users.
func (t trees) integration(ctx context.Context) (parts []*suite) {
	_, _, noZone := net.DefaultResolver.LookupSRV(ctx, "mongodb", "tcp", seedlistZone)
	for _, users := range []bool{false, true} {
		s := &suite{trees: t, Result: Result{Name: "integration"}, revision: t.Revisions.Upstream, covers: needsServer,
			server:  &server.Config{Topology: "replicaset:3", Users: users},
			command: command{flags: []string{t.withoutOurs()}, packages: []string{integration + "/..."}}}
		if users {
			s.Name += " with users"
		}
		if noZone != nil {
			s.command.flags = []string{t.withoutOurs(seedlistTest)}
			s.skip(seedlistTest + " needs the names of " + seedlistZone)
		}
		parts = append(parts, s)
	}
	return parts
}

// withoutOurs is the flag that leaves out our tests, except those that have the name of one of upstream's in some package, and others.
func (t trees) withoutOurs(others ...string) string {
	theirs := t.upstreams.names()
	ours := slices.DeleteFunc(t.own.names(), func(name string) bool { return slices.Contains(theirs, name) })
	return "-skip=" + anyOf(append(ours, others...))
}

// Module is the path of upstream's module, and so of the fork.
const Module = "go.mongodb.org/mongo-driver/v2"

// The packages with the tests that need a server, the second one with the runner of the specifications' unified tests.
const integration, unified = "./internal/integration", integration + "/unified"

func needsServer(test key) bool   { return strings.HasPrefix(test.Package+"/", integration+"/") }
func needsNoServer(test key) bool { return !needsServer(test) }
func isUnified(test key) bool     { return test.Package == unified }

// trees are the two modules that upstream's tests run in, as folders below the root of the repository.
type trees struct {
	*Rig
	fork, pristine string
	// upstreams are the tests of the untouched module, own those that only the fork has, and lost those that it lacks.
	upstreams, own, lost functions
	skips                map[key]skip // the entries of the skip list, by upstream's tests that may fail in the fork
}

// readTrees reads the trees, which have to be there.
func (r *Rig) readTrees(fork string) (t trees, err error) {
	t = trees{Rig: r, fork: fork, pristine: path.Join("build", "pristine", r.Base)}
	all, allErr := readFunctions(r.file(t.fork))
	upstreams, upstreamErr := readFunctions(r.file(t.pristine))
	if err := errors.Join(allErr, upstreamErr); err != nil {
		return t, fmt.Errorf("%w (make trees builds them)", err)
	}
	t.upstreams, t.own, t.lost = upstreams, all.in(upstreams.lacks), upstreams.in(all.lacks)
	t.skips, err = r.readSkips()
	return t, err
}

// functions are test functions.
type functions map[key]bool

// in returns the functions that keep accepts.
func (f functions) in(keep func(key) bool) functions {
	f = maps.Clone(f)
	maps.DeleteFunc(f, func(function key, _ bool) bool { return !keep(function) })
	return f
}

func (f functions) lacks(function key) bool { return !f[function] }
func (f functions) names() []string         { return f.every(func(k key) string { return k.Test }) }

// every returns something of all functions, each once.
func (f functions) every(of func(key) string) (all []string) {
	for function := range f {
		all = append(all, of(function))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// testFunction matches what go test runs, if only as a fuzz test with its seeds.
var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)(?:[^a-z\W]\w*)?)\(`)

// readFunctions finds the test functions in the files of a tree, except files that the build constraints exclude on this machine.
func readFunctions(tree string) (functions, error) {
	found := functions{}
	err := fs.WalkDir(os.DirFS(tree), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "testdata" {
			return fs.SkipDir
		}
		if err != nil || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		folder, file := path.Split(name)
		matches, matchErr := build.Default.MatchFile(filepath.Join(tree, folder), file)
		text, readErr := os.ReadFile(filepath.Join(tree, name))
		if err := errors.Join(matchErr, readErr); err != nil || !matches {
			return err
		}
		for _, match := range testFunction.FindAllSubmatch(text, -1) {
			if function := string(match[1]); function != "TestMain" {
				found[key{"./" + path.Clean(folder), function}] = true
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", tree, err)
	}
	return found, nil
}

// skip is an entry of the skip list: why tests of upstream's may fail in the fork, what the specification demands instead, and which test
// of ours asserts that.
type skip struct {
	Reason    string
	Successor key
	Tests     []key
}

func (r *Rig) skipFile() string { return "etc/bases/" + r.Base + "/skips" }

// readSkips reads the skip list. Without a file it is empty.
func (r *Rig) readSkips() (map[key]skip, error) {
	var entries []skip
	if err := strict.Optional(r.file(r.skipFile()), &entries); err != nil {
		return nil, err
	}
	skips := map[key]skip{}
	for i, e := range entries {
		if e.Reason == "" || e.Successor.Test == "" || len(e.Tests) == 0 {
			return nil, fmt.Errorf("%s: entry %d needs reason, successor and tests", r.skipFile(), i+1)
		}
		for _, test := range e.Tests {
			if test.Test == "" || skips[test].Reason != "" {
				return nil, fmt.Errorf("%s: entry %d: %q names no test, or is listed twice", r.skipFile(), i+1, test)
			}
			skips[test] = e
		}
	}
	return skips, nil
}

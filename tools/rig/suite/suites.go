package suite

import (
	"context"
	"net"
	"os"
	"slices"

	"mongofork/tools/gotest"
	"mongofork/tools/rig/server"
)

// Default are the suites that run if none is named, Extra those that run only if they are.
var (
	Default = []string{"fork", "upstream", "spec"}
	Extra   = []string{"integration", "topologies"}
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
	*Rig
	trees
	Result
	// revision is that of the specifications' tests that these tests are for, if they read any, and project where they are.
	revision, project string
	command           gotest.Command
	// server is the one that is started for them. Without it they need none.
	server *server.Config
	// must are the tests of ours that have to run.
	must functions
	// covers says which of upstream's tests run. Of those no test may be lost, and every entry of the skip list has to be needed.
	covers func(gotest.Key) bool
}

// suites returns the parts of a suite.
func (r *Rig) suites(ctx context.Context, t trees, name string) []*suite {
	switch name {
	case "fork":
		return []*suite{r.ours(t)}
	case "upstream":
		return []*suite{{Rig: r, trees: t, Result: Result{Name: name}, revision: r.Revisions.Upstream, covers: needsNoServer,
			command: gotest.Command{Flags: []string{"-short", t.withoutOurs()}, Packages: []string{"./..."}}}}
	case "spec":
		return r.spec(t)
	case "integration":
		return r.integration(ctx, t)
	default:
		return r.topologies(t)
	}
}

// ours are the tests that the overlay adds, except those that need a server, which belong to spec.
func (r *Rig) ours(t trees, flags ...string) *suite {
	if r.Race {
		flags = append(flags, "-race")
	}
	own := t.own.in(needsNoServer)
	return &suite{Rig: r, trees: t, Result: Result{Name: "fork"}, revision: r.Revisions.Fork, must: own,
		command: gotest.Command{Flags: flags, Packages: own.packages(), Run: gotest.AnyOf(own.names())}}
}

// long are the folders of unified tests that take as long as all others and our tests.
const long = "^" + unifiedTest + "$/^(client-side-operations-timeout|retryable-reads|retryable-writes|server-discovery-and-monitoring)$"

// spec are the unified tests, and all tests of the overlay that need a server, on real members. The fork's revision has all unified tests
// of upstream's revision, a few of them changed. The tests mostly wait, so they run as two halves at the same time.
func (r *Rig) spec(t trees) []*suite {
	most := r.unified(t, "spec", server.Config{}, t.own.in(needsServer), unifiedTest)
	rest := r.unified(t, "spec (long)", server.Config{}, nil)
	most.command.Flags, rest.command.Run = []string{"-skip=" + long}, long
	return []*suite{most, rest}
}

// unified are the named tests of upstream's, and ours, with the files of the fork's revision.
func (r *Rig) unified(t trees, name string, cfg server.Config, ours functions, theirs ...string) *suite {
	return &suite{Rig: r, trees: t, Result: Result{Name: name}, revision: r.Revisions.Fork, server: &cfg, must: ours, covers: isUnified,
		command: gotest.Command{Run: gotest.AnyOf(append(ours.names(), theirs...)), Packages: []string{unified, integration}}}
}

// topologies are the unified tests and the prose tests of the fork's revision, on a server, and on the sharded cluster and the
// load balancer that the lab makes of one.
func (r *Rig) topologies(t trees) (parts []*suite) {
	cfg := server.Config{Name: os.Getenv("SERVER")}
	if cfg.Name == "" && os.Getenv("MONGODB_URI") == "" {
		cfg.Name = server.SecantusDB // which knows all commands
	}
	ours, theirs := t.own.in(isUnified), append(slices.Clip(proseTests), unifiedTest)
	parts = append(parts, r.unified(t, "topologies without the lab", cfg, ours, theirs...))
	if cfg.Name == server.Path || cfg.Name == server.Pinned {
		cfg.Topology = "replicaset:1" // the lab stands before one server
	}
	for _, lab := range []string{"sharded:2", "loadbalanced:2"} {
		s := r.unified(t, "topologies "+lab, cfg, ours, theirs...)
		s.command.Through = []string{r.file("build/lab"), "serve", "--topology", lab, "--"}
		s.covers = nil
		parts = append(parts, s)
	}
	return parts
}

// seedlistTest is a test of upstream's that looks up names of a zone. Where it can't, it panics, which ends the tests after it, too.
const seedlistTest, seedlistZone = "TestInitialDNSSeedlistDiscoverySpec", "test1.test.build.10gen.cc"

// integration are all of upstream's tests that need a server, on real members: as they are, and with users.
func (r *Rig) integration(ctx context.Context, t trees) (parts []*suite) {
	_, _, noZone := net.DefaultResolver.LookupSRV(ctx, "mongodb", "tcp", seedlistZone)
	for _, users := range []bool{false, true} {
		s := &suite{Rig: r, trees: t, Result: Result{Name: "integration"}, revision: r.Revisions.Upstream, covers: needsServer,
			server:  &server.Config{Topology: "replicaset:3", Users: users},
			command: gotest.Command{Flags: []string{t.withoutOurs()}, Packages: []string{integration + "/..."}}}
		if users {
			s.Name += " with users"
		}
		if noZone != nil {
			s.command.Flags = []string{t.withoutOurs(seedlistTest)}
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
	return "-skip=" + gotest.AnyOf(append(ours, others...))
}

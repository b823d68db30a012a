package suite

import (
	"context"
	"net"
	"os"
	"slices"

	"mongofork/tools/rig/server"
)

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
	// server is the one that is started for them. Without it they need none.
	server *server.Config
	// must are the tests of ours that have to run.
	must functions
	// covers says which of upstream's tests run. Of those no test may be lost, and every entry of the skip list has to be needed.
	covers func(key) bool
}

// suites returns the parts of a suite.
func (t trees) suites(ctx context.Context, name string) []*suite {
	switch name {
	case "fork":
		return []*suite{t.ours()}
	case "upstream":
		return []*suite{{trees: t, Result: Result{Name: name}, revision: t.Revisions.Upstream, covers: needsNoServer,
			command: command{flags: []string{"-short", t.withoutOurs()}, packages: []string{"./..."}}}}
	case "spec":
		return t.spec()
	case "integration":
		return t.integration(ctx)
	default:
		return t.topologies()
	}
}

// ours are the tests that the overlay adds, except those that need a server, which belong to spec.
func (t trees) ours(flags ...string) *suite {
	if t.Race {
		flags = append(flags, "-race")
	}
	own := t.own.in(needsNoServer)
	return &suite{trees: t, Result: Result{Name: "fork"}, revision: t.Revisions.Fork, must: own,
		command: command{flags: flags, packages: own.packages(), run: anyOf(own.names())}}
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

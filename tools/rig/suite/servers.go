package suite

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"strings"

	"mongofork/tools/gotest"
	"mongofork/tools/rig/server"
)

// unifiedTest runs the specifications' unified tests.
const unifiedTest = "TestUnifiedSpec"

// proseTests are upstream's tests, in internal/integration, that need members or routers of a deployment.
var proseTests = []string{
	"TestRetryableReadsProse", "TestRetryableWritesProse", "TestServerSelectionProse", "TestSDAMErrorHandling", "TestSDAMProse",
	"TestLoadBalancerSupport", "TestMongosPinning", "TestWriteErrorsWithLabels", "TestSessionsProse",
}

// spec runs the unified tests, and all tests of the overlay that need a server, on a real one. Of the revision that upstream's tests are
// for, the fork's has all the unified tests, a few of them changed.
func (w work) spec() part {
	return w.unified("spec", server.Config{}, "", w.own.in(needsServer), unifiedTest)
}

// topologies runs the unified tests and the prose tests of the fork's revision, on a server, and on the sharded cluster and the
// load balancer that the lab makes of one.
func (w work) topologies() (parts []part) {
	cfg := server.Config{Name: os.Getenv("SERVER")}
	if cfg.Name == "" && os.Getenv("MONGODB_URI") == "" {
		cfg.Name = server.SecantusDB // which knows all commands
	}
	ours := w.own.in(func(pkg string) bool { return pkg == unified })
	theirs := append(proseTests, unifiedTest)
	parts = append(parts, w.unified("topologies without the lab", cfg, "", ours, theirs...))
	if cfg.Name == server.Path || cfg.Name == server.Pinned {
		cfg.Topology = "replicaset:1" // the lab stands before one server
	}
	for _, lab := range []string{"sharded:2", "loadbalanced:2"} {
		parts = append(parts, w.unified("topologies "+lab, cfg, lab, ours, theirs...))
	}
	return parts
}

// unified runs the named tests of upstream's, and ours, with the files of the fork's revision, behind a lab of that topology if it is not
// empty.
func (w work) unified(name string, cfg server.Config, lab string, ours functions, theirs ...string) part {
	return part{name, func(ctx context.Context, r *Result) error {
		project, err := w.Project(ctx, w.Revisions.Fork)
		if err != nil {
			return err
		}
		command := gotest.Command{Run: gotest.AnyOf(append(ours.names(), theirs...)), Packages: []string{unified, integration}}
		if lab != "" {
			command.Through = []string{w.file("build/lab"), "serve", "--topology", lab, "--"}
		}
		return judge{work: w, command: command, run: w.onServers(cfg, project, r), must: ours, covers: func(pkg string) bool {
			return pkg == unified && lab == ""
		}}.judge(ctx, r)
	}}
}

// seedlistTest is a test of upstream's that looks up names of a zone. Where it can't, it panics, which ends the tests after it, too.
const seedlistTest, seedlistZone = "TestInitialDNSSeedlistDiscoverySpec", "test1.test.build.10gen.cc"

// integration runs all of upstream's tests that need a server on real members: as they are, and with users.
func (w work) integration() (parts []part) {
	for _, users := range []bool{false, true} {
		name := map[bool]string{false: "integration", true: "integration with users"}[users]
		parts = append(parts, part{name, func(ctx context.Context, r *Result) error {
			project, err := w.Project(ctx, w.Revisions.Upstream)
			if err != nil {
				return err
			}
			var left []string
			if _, _, err := net.DefaultResolver.LookupSRV(ctx, "mongodb", "tcp", seedlistZone); err != nil {
				left = append(left, seedlistTest)
				r.skip(seedlistTest + " needs the names of " + seedlistZone)
			}
			command := gotest.Command{Flags: []string{w.withoutOurs(left...)}, Packages: []string{integration + "/..."}}
			cfg := server.Config{Topology: "replicaset:3", Users: users}
			return judge{work: w, command: command, run: w.onServers(cfg, project, r), covers: needsServer}.judge(ctx, r)
		}})
	}
	return parts
}

// onServers runs tests on a newly started server. What needs a newer one than the pinned mongod runs on the pinned SecantusDB.
// The first run notes with the result what ran where.
func (w work) onServers(cfg server.Config, project string, r *Result) runner {
	noted := false
	return func(ctx context.Context, label, tree string, command gotest.Command) (gotest.Result, error) {
		// The packages share the server and its fail points, so they run one after the other.
		command.Flags = moduleFlags(append(slices.Clip(command.Flags), "-p=1", gotest.Fresh)...)
		all := gotest.Result{}
		for cfg := cfg; ; {
			result, s, err := w.onNew(ctx, cfg, label, tree, command, project)
			if err != nil {
				return nil, err
			}
			if all.Add(result); !noted {
				r.note("%d on %v", result.Count(gotest.Passed), s)
			}
			wanting := slices.DeleteFunc(result.Cases(), func(c gotest.Case) bool {
				_, why := c.Said()
				return c.Outcome != gotest.Skipped || !strings.Contains(why, "is lower than min")
			})
			if len(wanting) == 0 || s.Name != server.Pinned || cfg.Topology != "" {
				noted = true
				return all, nil
			}
			cfg, command = server.Config{Name: server.SecantusDB}, command.Only(wanting)
		}
	}
}

// onNew runs tests on a new server.
func (w work) onNew(ctx context.Context, cfg server.Config, label, tree string, command gotest.Command, project string) (
	result gotest.Result, s *server.Server, err error) {
	cfg.Root, cfg.Progress = w.Root, w.Log.Writer()
	if s, err = w.Open(ctx, cfg); err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	result, err = w.test(ctx, label+" on "+s.String(), tree, command, append([]string{"PROJECT_DIRECTORY=" + project}, s.Env...)...)
	return result, s, err
}

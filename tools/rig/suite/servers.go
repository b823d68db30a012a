package suite

import (
	"cmp"
	"context"
	"errors"
	"net"
	"os"
	"regexp"
	"slices"

	"mongofork/tools/gotest"
	"mongofork/tools/rig/server"
)

const (
	// unifiedTest runs the specifications' unified tests.
	unifiedTest = "TestUnifiedSpec"
)

// proseTests are upstream's tests, in internal/integration, that need members or routers of a deployment.
var proseTests = []string{
	"TestRetryableReadsProse", "TestRetryableWritesProse", "TestServerSelectionProse", "TestSDAMErrorHandling", "TestSDAMProse",
	"TestLoadBalancerSupport", "TestMongosPinning", "TestWriteErrorsWithLabels", "TestSessionsProse",
}

// spec runs, for each revision, the unified tests on a real server; for that of the fork also all tests of the overlay that need
// one.
func (w work) spec() []part {
	parts := []part{{"spec " + w.Revisions.Fork, func(ctx context.Context, r *Result) error {
		return w.unified(ctx, r, w.Revisions.Fork, server.Config{}, w.own.in(needsServer), unifiedTest)
	}}}
	if w.Revisions.Upstream != w.Revisions.Fork {
		parts = append(parts, part{"spec " + w.Revisions.Upstream, func(ctx context.Context, r *Result) error {
			return w.unified(ctx, r, w.Revisions.Upstream, server.Config{}, nil, unifiedTest)
		}})
	}
	return parts
}

// topologies runs the unified tests and the prose tests of the fork's revision, on a server, and on the sharded cluster and the
// load balancer that the lab makes of one.
func (w work) topologies() []part {
	var parts []part
	for _, topology := range []string{"", "sharded:2", "loadbalanced:2"} {
		parts = append(parts, part{"topologies " + cmp.Or(topology, "without the lab"), func(ctx context.Context, r *Result) error {
			ours := w.own.in(func(folder string) bool { return folder == unifiedFolder })
			cfg := server.Config{Name: os.Getenv("SERVER"), Lab: topology}
			if cfg.Name == "" && os.Getenv("MONGODB_URI") == "" {
				cfg.Name = server.SecantusDB // which knows all commands
			}
			return w.unified(ctx, r, w.Revisions.Fork, cfg, ours, append(proseTests, unifiedTest)...)
		}})
	}
	return parts
}

// seedlistTest is a test of upstream's that looks up names of a zone. Where it can't, it panics, which ends the tests after it, too.
const seedlistTest, seedlistZone = "TestInitialDNSSeedlistDiscoverySpec", "test1.test.build.10gen.cc"

// integration runs all of upstream's tests that need a server on real members: as they are, and with TLS and users.
func (w work) integration() []part {
	var parts []part
	for _, name := range []string{"plain", "secured"} {
		form := server.ReplicaSet(3)
		form.TLS, form.Users = name == "secured", name == "secured"
		parts = append(parts, part{"integration " + name, func(ctx context.Context, r *Result) error {
			project, err := w.Project(ctx, w.Revisions.Upstream)
			if err != nil {
				return err
			}
			var left []string
			if _, _, err := net.DefaultResolver.LookupSRV(ctx, "mongodb", "tcp", seedlistZone); err != nil {
				left = append(left, seedlistTest)
				r.skip(seedlistTest + " needs the names of " + seedlistZone)
			}
			// The packages share the server and its fail points, so they run one after the other.
			command := gotest.Command{
				Flags: moduleFlags("-p=1", w.withoutOurs(left...)), Packages: []string{"./" + integrationFolder + "/..."},
			}
			j := w.judged(command, w.onServers(server.Config{Form: form}, project, r))
			j.covers = needsServer
			return j.judge(ctx, r)
		}})
	}
	return parts
}

// unified runs the named tests of upstream's, and ours, with the files of a revision.
func (w work) unified(ctx context.Context, r *Result, revision string, cfg server.Config, ours functions, theirs ...string) error {
	project, err := w.Project(ctx, revision)
	if err != nil {
		return err
	}
	command := gotest.Command{
		Flags: moduleFlags("-p=1"), Run: gotest.AnyOf(append(ours.names(), theirs...)),
		Packages: []string{"./" + unifiedFolder, "./" + integrationFolder},
	}
	j := w.judged(command, w.onServers(cfg, project, r))
	j.ours = ours
	j.covers = func(folder string) bool { return folder == unifiedFolder && cfg.Lab == "" }
	return j.judge(ctx, r)
}

// tooOld matches the reason of a case that asks for a newer server.
var tooOld = regexp.MustCompile(`is lower than min`)

// onServers runs tests on a newly started server. What needs a newer one than the pinned mongod runs on the pinned SecantusDB.
// The first run notes with the result what ran where.
func (w work) onServers(cfg server.Config, project string, r *Result) runner {
	noted := false
	return func(ctx context.Context, label, tree string, command gotest.Command) (*gotest.Result, error) {
		first, s, err := w.onNew(ctx, cfg, label, tree, command, project)
		if err != nil {
			return nil, err
		}
		results, names := []*gotest.Result{first}, []string{s.String()}
		if wanting := needNewerServer(first); len(wanting) > 0 && s.Name == server.Pinned && cfg.Form == (server.Form{}) {
			second, s, err := w.onNew(ctx, server.Config{Name: server.SecantusDB}, label, tree, command.Only(wanting), project)
			if err != nil {
				return nil, err
			}
			results, names = append(results, second), append(names, s.String())
		}
		for i, result := range results {
			if !noted {
				r.note("%d on %s", result.Count().Passed, names[i])
			}
		}
		noted = true
		return gotest.Merge(results...), nil
	}
}

// onNew runs tests on a new server.
func (w work) onNew(ctx context.Context, cfg server.Config, label, tree string, command gotest.Command, project string) (_ *gotest.Result,
	_ *server.Server, err error) {
	s, err := w.open(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	env := append([]string{"PROJECT_DIRECTORY=" + project}, s.Env...)
	result, err := w.test(ctx, label+" on "+s.String(), tree, command, env...)
	return result, s, err
}

// needNewerServer returns the cases that were skipped because they need a newer server.
func needNewerServer(result *gotest.Result) []gotest.Case {
	return slices.DeleteFunc(result.Cases(), func(c gotest.Case) bool {
		return c.Outcome != gotest.Skipped || !tooOld.MatchString(c.Reason())
	})
}

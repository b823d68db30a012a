package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mongofork/tools/gotest"
	"mongofork/tools/rig/report"
)

// bareServer is the server without the lab, with which the topologies are compared.
const bareServer = "server"

// proseTests are upstream's tests, in internal/integration, that need members or routers of a deployment.
var proseTests = []string{
	"TestRetryableReadsProse", "TestRetryableWritesProse", "TestServerSelectionProse", "TestSDAMErrorHandling", "TestSDAMProse",
	"TestLoadBalancerSupport", "TestMongosPinning", "TestWriteErrorsWithLabels", "TestSessionsProse",
}

// Topologies are the deployments for the unified tests: the bare server, and those that the lab simulates on it.
func Topologies() []string {
	return []string{bareServer, "standalone", "replicaset:3", "sharded:2", "loadbalanced:2"}
}

// Lab is a running lab.
type Lab struct {
	// Env is the environment in which the tests find it.
	Env []string
	// Close ends it.
	Close func() error
}

// topologyRun is the result of one topology in one tree.
type topologyRun struct {
	topology string
	fork     bool
	result   *gotest.Result
}

// RunTopologies runs the unified tests of the revision that the fork follows on each of the topologies, in both trees.
// A file restricts them to that test file.
func (r *Rig) RunTopologies(ctx context.Context, topologies []string, file string) []report.Suite {
	var suites []report.Suite
	var runs []topologyRun
	for i, topology := range topologies {
		r.Progress.Step(i+1, len(topologies), topology)
		suites = append(suites, r.timed(topology, func(s *report.Suite) error {
			return r.topology(ctx, s, topology, file, func(inFork bool, result *gotest.Result) {
				runs = append(runs, topologyRun{topology: topology, fork: inFork, result: result})
			})
		}))
	}
	if len(suites) > 0 {
		last := &suites[len(suites)-1]
		last.Remarks = append(last.Remarks, topologyTable(runs), nowhere(runs))
	}
	return suites
}

func (r *Rig) topology(ctx context.Context, s *report.Suite, topology, file string, observe func(bool, *gotest.Result)) error {
	t, project, err := r.specSetup(ctx, r.Fork)
	if err != nil {
		return err
	}
	c := r.unifiedComparison(t, r.Fork, project, file)
	c.observe = observe
	if file == "" {
		// The packages share the server and its fail points, so they run one after the other.
		c.command.Flags = append(c.command.Flags, "-p=1")
		c.command.Run = gotest.AnyOf(append([]string{"TestUnifiedSpec"}, proseTests...))
		c.command.Packages = append(c.command.Packages, "./"+integrationFolder)
	}
	if topology != bareServer {
		c.open = func(ctx context.Context) ([]string, func() error, error) {
			return r.openTopology(ctx, project, topology)
		}
		c.rerun = []string{fmt.Sprintf("make lab TOPOLOGY=%s # and beside it, with what it prints:\n ", topology),
			projectVariable(r.Fork)}
	}
	if err := r.compare(ctx, s, t, c); err != nil || file != "" {
		return err
	}
	return r.ownOnTopology(ctx, s, t, c)
}

// ownOnTopology runs the tests about overload that the overlay adds to upstream's runner, in the fork.
func (r *Rig) ownOnTopology(ctx context.Context, s *report.Suite, t *trees, c comparison) error {
	c.command = gotest.Command{
		Flags: moduleFlags(), Timeout: specTimeout, Packages: []string{"./" + unifiedFolder}, Run: gotest.AnyOf(t.own[unifiedFolder]),
	}
	result, err := r.arm(ctx, s.Name+" overload", t.fork, c)
	if err != nil {
		return err
	}
	record(s, result, func(key gotest.Key) string {
		return rerunCommand(t.fork, c.command, key, "./"+unifiedFolder, c.rerun...)
	})
	c.observe(true, result)
	return nil
}

// openTopology starts a server and a lab in front of it.
func (r *Rig) openTopology(ctx context.Context, project, topology string) ([]string, func() error, error) {
	server, err := r.server(ctx, "server for the lab", r.OpenBehindLab)
	if err != nil {
		return nil, nil, err
	}
	l, err := r.OpenLab(ctx, topology, server.URI)
	if err != nil {
		return nil, nil, errors.Join(err, server.Close())
	}
	done := func() error { return errors.Join(l.Close(), server.Close()) }
	return append([]string{"PROJECT_DIRECTORY=" + project}, l.Env...), done, nil
}

// nowhere lists the cases that run on no topology, by the last reason given.
func nowhere(runs []topologyRun) string {
	reasons := make(map[gotest.Key]string)
	ran := make(map[gotest.Key]bool)
	for _, run := range runs {
		for _, c := range run.result.Cases() {
			if c.Outcome == gotest.Skipped {
				reasons[c.Key] = tidyReason(c.Reason())
				continue
			}
			// A file or test that is skipped as a whole elsewhere has its parent's name there.
			for key := c.Key; key.Test != ""; key.Test = parentOf(key.Test) {
				ran[key] = true
			}
		}
	}
	grouped := report.Suite{}
	for key, reason := range reasons {
		if !ran[key] {
			grouped.AddSkips(reason)
		}
	}
	slices.SortFunc(grouped.Skips, func(a, b report.Skip) int {
		if a.Count != b.Count {
			return b.Count - a.Count
		}
		return strings.Compare(a.Reason, b.Reason)
	})
	var lines []string
	for _, skip := range grouped.Skips {
		lines = append(lines, fmt.Sprintf("%6d  %s", skip.Count, skip.Reason))
	}
	return fmt.Sprintf("cases that run on none of the topologies (%d):\n%s", grouped.Skipped(), strings.Join(lines, "\n"))
}

// parentOf returns the name of the test that has the subtest, or the empty string.
func parentOf(test string) string {
	return test[:max(strings.LastIndexByte(test, '/'), 0)]
}

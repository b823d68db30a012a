package suite

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mongofork/tools/gotest"
)

const (
	// integrationFolder holds the tests that need a server, unifiedFolder the runner of the specifications' unified tests.
	integrationFolder = "internal/integration"
	unifiedFolder     = "internal/integration/unified"
)

// moduleFlags are the flags for every run in the built trees. With -trimpath both trees share compiled files. Upstream's own vet
// findings do not concern the tests.
func moduleFlags(more ...string) []string { return append([]string{"-trimpath", "-vet=off"}, more...) }

func needsServer(folder string) bool { return strings.HasPrefix(folder+"/", integrationFolder+"/") }

func needsNoServer(folder string) bool { return !needsServer(folder) }

// locally runs tests that need no server.
func (w work) locally(env ...string) runner {
	return func(ctx context.Context, label, tree string, command gotest.Command) (*gotest.Result, error) {
		return w.test(ctx, label, tree, command, env...)
	}
}

// judged returns a judge of a run.
func (w work) judged(command gotest.Command, run runner) judge {
	return judge{trees: w.trees, command: command, run: run, skips: w.skips, skipFile: w.skipFile()}
}

// ours runs the tests that the overlay adds, except those that need a server, which belong to spec.
func (w work) ours(ctx context.Context, r *Result) error {
	var env []string
	// Our tests test the revision that the fork implements.
	if project, err := w.Project(ctx, w.Revisions.Fork); err == nil {
		env = []string{"PROJECT_DIRECTORY=" + project}
	}
	flags := moduleFlags()
	if w.Race {
		flags = append(flags, "-race")
	}
	ours := w.own.in(needsNoServer)
	j := w.judged(gotest.Command{Flags: flags, Packages: ours.folders(), Run: gotest.AnyOf(ours.names())}, w.locally(env...))
	j.ours = ours
	return j.judge(ctx, r)
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
	j := w.judged(command, w.locally("PROJECT_DIRECTORY="+project))
	j.covers = needsNoServer
	return j.judge(ctx, r)
}

// withoutOurs is the flag that leaves out our tests, except those that have the name of one of upstream's in some package, and others.
func (w work) withoutOurs(others ...string) string {
	elsewhere := w.all.without(w.own).names()
	ours := slices.DeleteFunc(w.own.names(), func(name string) bool { return slices.Contains(elsewhere, name) })
	return "-skip=" + gotest.AnyOf(append(ours, others...))
}

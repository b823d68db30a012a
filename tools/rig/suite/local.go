package suite

import (
	"context"
	"io/fs"
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

// modules runs the tests of the repository's modules. What of the overlay needs the race detector runs with it in the fork.
func (w work) modules(ctx context.Context, r *Result) error {
	folders, err := w.folders()
	if err != nil {
		return err
	}
	var env []string
	if project, err := w.project(ctx, w.Revisions.Fork); err == nil {
		env = []string{"SPECIFICATIONS=" + filepath.Join(project, "testdata", "specifications")}
	}
	race, note := w.race(ctx)
	r.Note = note
	for _, folder := range folders {
		command := gotest.Command{Packages: []string{"./..."}}
		if folder != "." {
			command.Flags = race
		}
		if err := w.module(ctx, r, folder, command, env...); err != nil {
			return err
		}
	}
	if !slices.Contains(folders, "lab") {
		return nil
	}
	// The lab requires upstream's driver. What is said of the driver in virtual time has to hold for the fork.
	forked, err := labWith(w.Root, w.fork)
	if err != nil {
		return err
	}
	return w.module(ctx, r, "lab", gotest.Command{Packages: []string{"./virtual/..."}}, append(forked, env...)...)
}

// module runs tests in a folder with a go.mod.
func (w work) module(ctx context.Context, r *Result, folder string, command gotest.Command, env ...string) error {
	result, err := w.test(ctx, "modules "+folder, folder, command, env...)
	if err != nil {
		return err
	}
	for _, c := range result.Cases() {
		switch c.Outcome {
		case gotest.Passed:
			r.Passed++
		case gotest.Skipped:
			r.skip(c.Reason())
		default:
			r.fail(c.Key.String(), "failed", rerunCommand(folder, command, c.Key, c.Package), c.Output...)
		}
	}
	return nil
}

// folders returns the folders of the repository that have a go.mod, except build output and test data.
func (w work) folders() ([]string, error) {
	var folders []string
	err := filepath.WalkDir(w.Root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		slashed, err := filepath.Rel(w.Root, name)
		if err != nil {
			return err
		}
		switch {
		case entry.IsDir() && (slashed == "build" || slashed == ".git" || entry.Name() == "testdata"):
			return filepath.SkipDir
		case entry.Name() == "go.mod":
			folders = append(folders, filepath.ToSlash(filepath.Dir(slashed)))
		}
		return nil
	})
	slices.Sort(folders)
	return folders, err
}

// locally runs tests that need no server.
func (w work) locally(env ...string) runner {
	return func(ctx context.Context, label, tree string, command gotest.Command) (*gotest.Result, error) {
		return w.test(ctx, label, tree, command, env...)
	}
}

// judged returns a judge of a run.
func (w work) judged(command gotest.Command, run runner, rerun ...string) judge {
	return judge{
		trees: w.trees, command: command, run: run, rerun: rerun,
		listed: inSkips(w.skips), skips: w.skips, skipFile: w.skipFile(),
	}
}

// ours runs the tests that the overlay adds, except those that need a server, which belong to spec.
func (w work) ours(ctx context.Context, r *Result) error {
	var env []string
	// Our tests test the revision that the fork implements.
	if project, err := w.project(ctx, w.Revisions.Fork); err == nil {
		env = []string{"PROJECT_DIRECTORY=" + project}
	}
	race, note := w.race(ctx)
	r.Note = note
	ours := w.own.in(needsNoServer)
	command := gotest.Command{Flags: moduleFlags(race...), Packages: ours.folders(), Run: gotest.AnyOf(ours.names())}
	j := w.judged(command, w.locally(env...))
	j.ours = ours
	_, err := j.judge(ctx, r)
	return err
}

// upstream runs all of upstream's tests that need no server.
func (w work) upstream(ctx context.Context, r *Result) error {
	project, err := w.project(ctx, w.Revisions.Upstream)
	if isUnavailable(err) && !w.CI {
		// Most tests do without them; those that do not then fail in both trees.
		r.note("without the specification tests")
		project = filepath.Join(os.TempDir(), "no-specifications")
	} else if err != nil {
		return err
	}
	command := gotest.Command{Flags: moduleFlags("-short", w.withoutOurs()), Timeout: specTimeout, Packages: []string{"./..."}}
	j := w.judged(command, w.locally("PROJECT_DIRECTORY="+project), projectVariable(w.Revisions.Upstream))
	j.covers = needsNoServer
	_, err = j.judge(ctx, r)
	return err
}

// withoutOurs is the flag that leaves out our tests, except those that have the name of one of upstream's in some package.
func (w work) withoutOurs() string {
	elsewhere := w.all.without(w.own).names()
	ours := slices.DeleteFunc(w.own.names(), func(name string) bool { return slices.Contains(elsewhere, name) })
	return "-skip=" + gotest.AnyOf(ours)
}

// projectVariable is PROJECT_DIRECTORY as the user types it in the root of the repository.
func projectVariable(revision string) string {
	return `PROJECT_DIRECTORY="$PWD/build/specifications/` + revision + `"`
}

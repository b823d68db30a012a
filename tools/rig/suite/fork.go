package suite

import (
	"context"
	"os"
	"slices"
	"strings"

	"mongofork/tools/gotest"
	"mongofork/tools/rig/report"
)

// integrationFolder holds the tests that need a server.
const integrationFolder = "internal/integration"

// moduleFlags are the flags for every run in the built trees. With -trimpath both trees share compiled files. Upstream's own vet
// findings do not concern the tests.
func moduleFlags(more ...string) []string {
	return append([]string{"-trimpath", "-vet=off"}, more...)
}

// fork runs the tests that the overlay adds, except those that need a server,
// which belong to spec.
func (r *Rig) fork(ctx context.Context, s *report.Suite, options Options) error {
	t, err := r.build(ctx)
	if err != nil {
		return err
	}
	env := r.env()
	// Our tests test the revision that the fork implements.
	if project, err := r.project(ctx, r.Fork); err == nil {
		env = r.env("PROJECT_DIRECTORY=" + project)
	}
	var flags []string
	if !options.Quick {
		flags, s.Note = r.race(ctx)
	}
	if options.Throttled {
		temp, err := os.MkdirTemp("", "rig-throttled-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(temp) }()
		overlay, err := overlayFlags(temp, r.file(t.fork), forcedThrottling())
		if err != nil {
			return err
		}
		flags = append(flags, overlay...)
	}
	needsNoServer := func(folder string) bool {
		return folder != integrationFolder && !strings.HasPrefix(folder, integrationFolder+"/")
	}
	folders := t.own.folders(needsNoServer)
	if len(folders) == 0 {
		return nil
	}
	// One run compiles and tests packages side by side.
	command := gotest.Command{Dir: r.file(t.fork), Env: env, Flags: moduleFlags(flags...)}
	var functions []string
	for _, folder := range folders {
		command.Packages = append(command.Packages, "./"+folder)
		functions = append(functions, t.own[folder]...)
	}
	slices.Sort(functions)
	command.Run = gotest.AnyOf(slices.Compact(functions))
	result, err := r.Tests.Test(ctx, command, r.Progress.Counter(s.Name))
	if err != nil {
		return err
	}
	for _, folder := range folders {
		// A test of upstream may have the name of one of ours in another package.
		ours := filter(result, func(key gotest.Key) bool {
			return key.Package == Module+"/"+folder && (key.Test == "" || t.own.has(key))
		})
		r.addOwn(s, t, folder, command, ours, result)
	}
	return nil
}

// runner runs a command, given a server.
type runner func(context.Context, gotest.Command) (*gotest.Result, error)

// ownFolder runs our tests in one folder of the fork and adds them to the suite. A test that go test does not report has failed.
func (r *Rig) ownFolder(ctx context.Context, s *report.Suite, t *trees, folder string, command gotest.Command, run runner, environment ...string) error {
	command.Run = gotest.AnyOf(t.own[folder])
	command.Packages = []string{"./" + folder}
	result, err := run(ctx, command)
	if err != nil {
		return err
	}
	r.addOwn(s, t, folder, command, result, result, environment...)
	return nil
}

// addOwn adds our tests in one folder to the suite. The run may include others.
func (r *Rig) addOwn(s *report.Suite, t *trees, folder string, command gotest.Command, ours, run *gotest.Result, environment ...string) {
	record(s, ours, func(key gotest.Key) string {
		return rerunCommand(t.fork, command, key, "./"+folder, environment...)
	})
	if run.Outcome(gotest.Key{Package: Module + "/" + folder}) == gotest.Failed {
		// The failure explains what did not run then.
		return
	}
	for _, function := range t.own.unrun(folder, run) {
		s.Failures = append(s.Failures, report.Failure{Name: folder + " " + function, What: "did not run"})
	}
}

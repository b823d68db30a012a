package suite

import (
	"context"
	"strings"

	"mongofork/internal/rig/gotest"
	"mongofork/internal/rig/report"
)

// integrationFolder is where tests need a server.
const integrationFolder = "internal/integration"

// moduleFlags are the flags for every run in the built trees. With -trimpath
// both share what the compiler makes of the files that they have in common.
// Upstream's own vet findings are no business of the tests.
func moduleFlags(more ...string) []string {
	return append([]string{"-trimpath", "-vet=off"}, more...)
}

// fork runs the tests that the overlay adds, apart from those that need a
// server, which belong to spec.
func (r *Rig) fork(ctx context.Context, s *report.Suite) error {
	t, err := r.build(ctx)
	if err != nil {
		return err
	}
	env := r.env()
	// Our tests are about the revision that the fork implements.
	if project, err := r.project(ctx, r.Fork); err == nil {
		env = r.env("PROJECT_DIRECTORY=" + project)
	}
	race, note := r.race(ctx)
	s.Note = note
	needsNoServer := func(folder string) bool {
		return folder != integrationFolder && !strings.HasPrefix(folder, integrationFolder+"/")
	}
	for _, folder := range t.own.folders(needsNoServer) {
		command := gotest.Command{Dir: r.file(t.fork), Env: env, Flags: moduleFlags(race...)}
		run := func(ctx context.Context, command gotest.Command) (*gotest.Result, error) {
			return r.Tests.Test(ctx, command, r.Progress.Counter(s.Name))
		}
		if err := r.ownFolder(ctx, s, t, folder, command, run); err != nil {
			return err
		}
	}
	return nil
}

// runner runs a command that is complete but for its server.
type runner func(context.Context, gotest.Command) (*gotest.Result, error)

// ownFolder runs the tests of ours in one folder of the fork and adds them to
// the suite. A test that go test does not report has failed.
func (r *Rig) ownFolder(ctx context.Context, s *report.Suite, t *trees, folder string, command gotest.Command, run runner, environment ...string) error {
	command.Run = gotest.AnyOf(t.own[folder])
	command.Packages = []string{"./" + folder}
	result, err := run(ctx, command)
	if err != nil {
		return err
	}
	record(s, result, func(key gotest.Key) string {
		return rerunCommand(t.fork, command, key, "./"+folder, environment...)
	})
	if result.Outcome(gotest.Key{Package: Module + "/" + folder}) == gotest.Failed {
		// What did not run then is explained by what failed.
		return nil
	}
	for _, function := range t.own.unrun(folder, result) {
		s.Failures = append(s.Failures, report.Failure{Name: folder + " " + function, What: "did not run"})
	}
	return nil
}

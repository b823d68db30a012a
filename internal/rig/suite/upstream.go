package suite

import (
	"context"

	"mongofork/internal/rig/gotest"
	"mongofork/internal/rig/report"
)

// upstream runs all of upstream's tests that need no server in both trees.
func (r *Rig) upstream(ctx context.Context, s *report.Suite) error {
	t, err := r.build(ctx)
	if err != nil {
		return err
	}
	project, missing := r.project(ctx, r.Upstream)
	if missing != nil {
		// Most tests do without; those that don't then fail in both trees.
		absent := r.timed("specification tests", func(*report.Suite) error { return missing })
		s.Failures = append(s.Failures, absent.Failures...)
		s.Note = "without the specification tests"
		project = r.file("build", "specifications", "missing")
	}
	return r.compare(ctx, s, t, comparison{
		list:    "upstream",
		command: gotest.Command{Flags: moduleFlags("-short"), Packages: []string{"./..."}},
		open: func(context.Context) ([]string, func() error, error) {
			return []string{"PROJECT_DIRECTORY=" + project}, func() error { return nil }, nil
		},
		covers: func(string) bool { return true },
		rerun:  []string{projectVariable(r.Upstream)},
	})
}

// projectVariable is PROJECT_DIRECTORY as the user types it in the root of the
// repository.
func projectVariable(revision string) string {
	return `PROJECT_DIRECTORY="$PWD/build/specifications/` + revision + `"`
}

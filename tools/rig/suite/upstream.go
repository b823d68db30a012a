package suite

import (
	"context"
	"slices"
	"strings"

	"mongofork/tools/gotest"
	"mongofork/tools/rig/report"
)

// upstreamRecord is the record of upstream's tests that need no server.
const upstreamRecord = "upstream"

// upstream runs all of upstream's tests that need no server: in the fork, if there is a record of their outcomes in the untouched
// module, and otherwise in both trees.
func (r *Rig) upstream(ctx context.Context, s *report.Suite) error {
	t, tr, err := r.upstreamTrial(ctx, s)
	if err != nil {
		return err
	}
	record, err := r.readRecord(tr.record)
	if err != nil {
		return err
	}
	if record == nil || s.Note != "" {
		return r.compare(ctx, s, t, tr.comparison)
	}
	return r.judge(ctx, s, t, record, tr)
}

func (r *Rig) upstreamTrial(ctx context.Context, s *report.Suite) (*trees, trial, error) {
	t, err := r.build(ctx)
	if err != nil {
		return nil, trial{}, err
	}
	project, missing := r.project(ctx, r.Upstream)
	if missing != nil {
		// Most tests do without them; those that do not then fail in both trees.
		absent := r.timed("specification tests", func(*report.Suite) error { return missing })
		s.Failures = append(s.Failures, absent.Failures...)
		s.Note = "without the specification tests"
		project = r.file("build", "specifications", "missing")
	}
	env := []string{"PROJECT_DIRECTORY=" + project}
	c := comparison{
		list:    "upstream",
		command: gotest.Command{Flags: moduleFlags("-short"), Timeout: specTimeout, Packages: []string{"./..."}},
		open: func(context.Context) ([]string, func() error, error) {
			return env, func() error { return nil }, nil
		},
		covers: func(string) bool { return true },
		rerun:  []string{projectVariable(r.Upstream)},
	}
	return t, trial{
		comparison: c, record: upstreamRecord,
		run: func(ctx context.Context, label, tree string, command gotest.Command) (*gotest.Result, error) {
			return r.runWhole(ctx, label, tree, command, env)
		},
	}, nil
}

// runWhole runs tests, and once more those of a package whose process ended early. A test that panics when the machine is slow
// takes those after it along.
func (r *Rig) runWhole(ctx context.Context, label, tree string, command gotest.Command, env []string) (*gotest.Result, error) {
	result, err := r.runArm(ctx, label, tree, comparison{command: command}, env)
	if err != nil {
		return nil, err
	}
	var ended, folders []string
	for _, c := range result.Cases() {
		if c.Unfinished() && !slices.Contains(ended, c.Package) {
			ended = append(ended, c.Package)
			folders = append(folders, "."+strings.TrimPrefix(c.Package, Module))
		}
	}
	if len(ended) == 0 {
		return result, nil
	}
	r.Progress.Printf("      %s: once more, because the process ended: %s", label, strings.Join(folders, " "))
	command.Packages = folders
	again, err := r.runArm(ctx, label+", once more", tree, comparison{command: command}, env)
	if err != nil {
		return nil, err
	}
	return gotest.Merge(result.Without(ended), again), nil
}

// projectVariable is PROJECT_DIRECTORY as the user types it in the root of the repository.
func projectVariable(revision string) string {
	return `PROJECT_DIRECTORY="$PWD/build/specifications/` + revision + `"`
}

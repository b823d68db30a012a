package suite

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"mongofork/tools/gotest"
	"mongofork/tools/rig/report"
)

const (
	// backpressureTest, which the overlay adds, runs the test files about overload of the revision that the fork follows.
	backpressureTest = "TestClientBackpressureSpec"
	unifiedFolder    = "internal/integration/unified"
	// specTimeout bounds one run. Upstream's tests take three minutes on an idle machine, and ten times that on a busy one.
	specTimeout = time.Hour
)

// spec runs the specification's tests on a real server: upstream's runner with its own revision and with the fork's in both
// trees, the tests about overload of the fork's revision in the fork, and the overlay's own integration tests.
func (r *Rig) spec(ctx context.Context, options Options) []report.Suite {
	parts := r.specParts(options)
	if len(parts) == 0 {
		return []report.Suite{failed("spec "+options.Revision,
			fmt.Sprintf("no suite runs this revision; there are %s and %s", r.Upstream, r.Fork))}
	}
	results := make([]report.Suite, len(parts))
	run := func(i int) {
		results[i] = r.timed(parts[i].name, func(s *report.Suite) error { return parts[i].run(ctx, s) })
		r.Progress.Printf("      %s: %v", parts[i].name, results[i].Elapsed.Round(time.Second))
	}
	var beside sync.WaitGroup
	for i, part := range parts {
		// The unified tests wait most of the time. They have their own servers, unless the user named one.
		if part.unified && r.usesPinned(ctx) {
			beside.Go(func() { run(i) })
		}
	}
	for i, part := range parts {
		if !part.unified || !r.usesPinned(ctx) {
			run(i)
		}
	}
	beside.Wait()
	return results
}

// specPart is a part of the suite "spec".
type specPart struct {
	name string
	// unified is whether upstream's runner runs it.
	unified bool
	run     func(context.Context, *report.Suite) error
}

// specParts returns the parts that the options select, in the order of their results.
func (r *Rig) specParts(options Options) []specPart {
	var parts []specPart
	if options.Revision == "" || options.Revision == r.Upstream {
		parts = append(parts, specPart{"spec " + r.Upstream, true, func(ctx context.Context, s *report.Suite) error {
			return r.unifiedSpec(ctx, s, r.Upstream, options.File)
		}})
	}
	if options.Revision == "" || options.Revision == r.Fork {
		name := "spec " + r.Fork
		if r.Fork == r.Upstream {
			name += " overload"
		}
		parts = append(parts, specPart{name, false, func(ctx context.Context, s *report.Suite) error {
			return r.backpressureSpec(ctx, s, options.File)
		}})
		if options.File == "" && r.Fork != r.Upstream {
			parts = append(parts, specPart{"spec " + r.Fork + " unified", true, func(ctx context.Context, s *report.Suite) error {
				return r.unifiedSpec(ctx, s, r.Fork, "")
			}})
		}
	}
	if options.Revision == "" && options.File == "" {
		parts = append(parts, specPart{"integration", false, r.integration})
	}
	if options.Throttled {
		parts = slices.DeleteFunc(parts, func(part specPart) bool { return part.unified })
	}
	return parts
}

// unifiedSpec judges the unified tests of a revision: in the fork on the pinned servers, if there is a record of their outcomes
// in the untouched module there, and otherwise by a run in both trees. Each run gets a new server, unless the user named one.
func (r *Rig) unifiedSpec(ctx context.Context, s *report.Suite, revision, file string) error {
	if !r.usesPinned(ctx) {
		t, project, err := r.specSetup(ctx, revision)
		if err != nil {
			return err
		}
		return r.compare(ctx, s, t, r.unifiedComparison(t, revision, project, file))
	}
	t, tr, err := r.unifiedTrial(ctx, revision, file, s)
	if err != nil {
		return err
	}
	record, err := r.readRecord(tr.record)
	if err != nil {
		return err
	}
	if record == nil {
		return fmt.Errorf("there is no record %s for %s; write it: make baseline BASE=%s", r.recordFile(tr.record), r.Platform, r.Base)
	}
	return r.judge(ctx, s, t, record, tr)
}

// unifiedTrial is a run of the unified tests of a revision on the pinned servers. The first run is tallied for a suite, if there
// is one.
func (r *Rig) unifiedTrial(ctx context.Context, revision, file string, tallied *report.Suite) (*trees, trial, error) {
	t, project, err := r.specSetup(ctx, revision)
	if err != nil {
		return nil, trial{}, err
	}
	c := r.unifiedComparison(t, revision, project, file)
	return t, trial{
		comparison: c, record: "spec-" + revision, part: file != "",
		run: func(ctx context.Context, label, tree string, command gotest.Command) (*gotest.Result, error) {
			a, err := r.onBoth(ctx, label, tree, command, project)
			if err != nil {
				return nil, err
			}
			if tallied != nil {
				r.tallyAnswers(tallied, revision, a)
				tallied = nil
			}
			return a.merged, nil
		},
	}, nil
}

// unifiedComparison is a run of the unified tests of a revision on a server.
func (r *Rig) unifiedComparison(t *trees, revision, project, file string) comparison {
	command := gotest.Command{Flags: moduleFlags(), Timeout: specTimeout, Packages: []string{"./" + unifiedFolder}}
	if own := t.own[unifiedFolder]; len(own) > 0 {
		command.Flags = append(command.Flags, "-skip="+gotest.AnyOf(own))
	}
	if file != "" {
		command.Run = filePattern("TestUnifiedSpec", file)
	}
	return comparison{
		list:     "spec",
		command:  command,
		parallel: true,
		open: func(ctx context.Context) ([]string, func() error, error) {
			server, err := r.server(ctx, "server", r.OpenServer)
			if err != nil {
				return nil, nil, err
			}
			return []string{"PROJECT_DIRECTORY=" + project, "MONGODB_URI=" + server.URI}, server.Close, nil
		},
		covers: func(test string) bool { return file == "" || strings.Contains(test, "/"+file+".json") },
		rerun:  serverCommand(revision),
	}
}

// filePattern returns the argument of -run for one test file. Its folder is part of the subtest's name: "crud/tests/unified" or
// "sessions/tests".
func filePattern(test, file string) string {
	var patterns []string
	for _, depth := range []int{2, 3} {
		patterns = append(patterns, "^"+test+"$/"+strings.Repeat(".*/", depth)+"^"+regexp.QuoteMeta(file)+`\.json$`)
	}
	return strings.Join(patterns, "|")
}

// serverCommand is the prefix of a command that needs a server and a revision's tests.
func serverCommand(revision string) []string {
	return []string{"go run ./tools/cmd/rig server -- env", projectVariable(revision)}
}

// specSetup gets the trees and a revision's tests.
func (r *Rig) specSetup(ctx context.Context, revision string) (*trees, string, error) {
	t, err := r.build(ctx)
	if err != nil {
		return nil, "", err
	}
	project, err := r.project(ctx, revision)
	return t, project, err
}

// backpressureSpec runs the test files of the revision that the fork implements,
// in the fork.
func (r *Rig) backpressureSpec(ctx context.Context, s *report.Suite, file string) error {
	t, project, err := r.specSetup(ctx, r.Fork)
	if err != nil {
		return err
	}
	command := gotest.Command{
		Dir: r.file(t.fork), Flags: moduleFlags(), Timeout: specTimeout,
		Run: gotest.AnyOf([]string{backpressureTest}), Packages: []string{"./" + unifiedFolder},
	}
	if file != "" {
		command.Run = filePattern(backpressureTest, file)
	}
	result, err := r.onServer(ctx, s, command, t.fork, project)
	if err != nil {
		return err
	}
	record(s, result, func(key gotest.Key) string {
		return rerunCommand(t.fork, command, key, "./"+unifiedFolder, serverCommand(r.Fork)...)
	})
	s.Remarks = append(s.Remarks, skippedCases(result)...)
	return checkComplete(result, project, file)
}

// skippedCases returns a remark that names each skipped case with its reason.
func skippedCases(result *gotest.Result) []string {
	var skipped []string
	for _, c := range result.Cases() {
		if c.Outcome == gotest.Skipped {
			skipped = append(skipped, fmt.Sprintf("%s: %s", c.Test, c.Reason()))
		}
	}
	if len(skipped) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("cannot run here (%d):\n  %s", len(skipped), strings.Join(skipped, "\n  "))}
}

// onServer runs a command in the fork with its own server, or on both of the pinned ones.
func (r *Rig) onServer(ctx context.Context, s *report.Suite, command gotest.Command, tree, project string) (*gotest.Result, error) {
	if r.usesPinned(ctx) {
		a, err := r.onBoth(ctx, s.Name, tree, command, project)
		if err != nil {
			return nil, err
		}
		r.tallyAnswers(s, r.Fork, a)
		return a.merged, nil
	}
	server, err := r.server(ctx, "server", r.OpenServer)
	if err != nil {
		return nil, err
	}
	s.Note = joinNotes(s.Note, server.Name)
	command.Env = r.env("PROJECT_DIRECTORY="+project, "MONGODB_URI="+server.URI)
	result, err := r.Tests.Test(ctx, command, r.Progress.Counter(s.Name))
	if closeErr := server.Close(); err == nil {
		err = closeErr
	}
	return result, err
}

// integration runs the overlay's own tests that need a server, except the one
// that backpressureSpec runs.
func (r *Rig) integration(ctx context.Context, s *report.Suite) error {
	t, project, err := r.specSetup(ctx, r.Fork)
	if err != nil {
		return err
	}
	own := ownTests{}
	for folder, functions := range t.own {
		if folder != integrationFolder && !strings.HasPrefix(folder, integrationFolder+"/") {
			continue
		}
		own[folder] = slices.DeleteFunc(slices.Clone(functions), func(name string) bool { return name == backpressureTest })
	}
	folders := own.folders(func(string) bool { return true })
	if len(folders) == 0 {
		s.Note = "the overlay has no tests of this kind"
		return nil
	}
	restricted := &trees{fork: t.fork, upstream: t.upstream, own: own}
	for _, folder := range folders {
		command := gotest.Command{Dir: r.file(t.fork), Flags: moduleFlags(), Timeout: specTimeout}
		run := func(ctx context.Context, command gotest.Command) (*gotest.Result, error) {
			return r.onServer(ctx, s, command, t.fork, project)
		}
		if err := r.ownFolder(ctx, s, restricted, folder, command, run, serverCommand(r.Fork)...); err != nil {
			return err
		}
	}
	return nil
}

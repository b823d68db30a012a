package suite

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"mongofork/tools/rig/report"
)

// check runs the checks that are no tests. Each step is one case.
func (r *Rig) check(ctx context.Context, s *report.Suite) error {
	steps := []struct {
		name, rerun string
		run         func(context.Context) error
	}{
		{"gofmt", "make fmt", r.checkFormat},
		{"vet", "go vet ./...", func(ctx context.Context) error { return r.tool(ctx, r.Root, "go", "vet", "./...") }},
		{"overlay", "go run ./tools/cmd/mongofork check", func(ctx context.Context) error {
			_, err := r.build(ctx)
			return err
		}},
		{"reproducible build", "make verify", r.checkVerify},
		{"compile the fork", "cd build/" + r.Base + " && go build ./...", r.checkCompile},
		{"vet the fork", "", r.checkForkVet},
	}
	for _, step := range steps {
		r.Progress.Printf("      %s", step.name)
		inner := r.timed(step.name, func(*report.Suite) error { return step.run(ctx) })
		for i := range inner.Failures {
			inner.Failures[i].Rerun = step.rerun
		}
		s.Failures = append(s.Failures, inner.Failures...)
		s.Skips = append(s.Skips, inner.Skips...)
		if len(inner.Failures)+len(inner.Skips) == 0 {
			s.Passed++
		}
	}
	return nil
}

// tool runs a command of which only the success matters.
func (r *Rig) tool(ctx context.Context, dir, name string, args ...string) error {
	_, err := r.Tools.Run(ctx, dir, r.env(), name, args...)
	return err
}

// checkFormat asks gofmt for files that it would change, except test data: some of it is malformed on purpose.
func (r *Rig) checkFormat(ctx context.Context) error {
	files, err := r.goFiles()
	if err != nil || len(files) == 0 {
		return err
	}
	output, err := r.Tools.Run(ctx, r.Root, r.env(), "gofmt", append([]string{"-l"}, files...)...)
	if err != nil {
		return err
	}
	if output = strings.TrimSpace(output); output != "" {
		return fmt.Errorf("not formatted:\n%s", output)
	}
	return nil
}

// goFiles lists the Go files of the repository, except build output, test data and hidden folders.
func (r *Rig) goFiles() ([]string, error) {
	var files []string
	err := filepath.WalkDir(r.Root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(entry.Name(), ".") && file != r.Root
		if entry.IsDir() && (hidden || entry.Name() == "build" || entry.Name() == "testdata") {
			return fs.SkipDir
		}
		if entry.Type().IsRegular() && !hidden && strings.HasSuffix(file, ".go") {
			relative, err := filepath.Rel(r.Root, file)
			if err != nil {
				return err
			}
			files = append(files, relative)
		}
		return nil
	})
	return files, err
}

// checkVerify asks the builder to build twice and to compare with the lock.
func (r *Rig) checkVerify(ctx context.Context) error {
	if _, err := r.build(ctx); err != nil {
		return err
	}
	return r.Builder.Verify(ctx, r.Base)
}

// checkCompile compiles the fork. Its go.mod keeps upstream's go line, so that
// the compiler refuses newer language features.
func (r *Rig) checkCompile(ctx context.Context) error {
	t, err := r.build(ctx)
	if err != nil {
		return err
	}
	return r.tool(ctx, r.file(t.fork), "go", "build", "-trimpath", "./...")
}

// checkForkVet vets the packages that the overlay touches, in both trees, and reports findings that only the fork has.
func (r *Rig) checkForkVet(ctx context.Context) error {
	t, err := r.build(ctx)
	if err != nil {
		return err
	}
	inFork, inUpstream := r.touched(t)
	found, err := r.vet(ctx, r.file(t.fork), inFork)
	if err != nil {
		return err
	}
	known, err := r.vet(ctx, r.file(t.upstream), inUpstream)
	if err != nil {
		return err
	}
	var problems []string
	for finding, n := range found {
		if n > known[finding] {
			problems = append(problems, finding.String())
		}
	}
	if len(problems) > 0 {
		sort.Strings(problems)
		return fmt.Errorf("go vet has findings in the fork that it does not have upstream:\n%s", strings.Join(problems, "\n"))
	}
	return nil
}

// touched returns the packages with Go files of the overlay, as arguments of the go command: those of the fork and, among them,
// those of upstream.
func (r *Rig) touched(t *trees) (inFork, inUpstream []string) {
	seen := map[string]bool{}
	for _, file := range t.overlay {
		dir := path.Dir(file)
		if seen[dir] || path.Ext(file) != ".go" || inTestdata(file) {
			continue
		}
		seen[dir] = true
		inFork = append(inFork, "./"+dir)
		if info, err := os.Stat(r.file(t.upstream, dir)); err == nil && info.IsDir() {
			inUpstream = append(inUpstream, "./"+dir)
		}
	}
	return inFork, inUpstream
}

// inTestdata reports whether the go command passes over a file.
func inTestdata(file string) bool { return slices.Contains(strings.Split(file, "/"), "testdata") }

package fork

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// VerifySeries applies a series to upstream's tree, in dir, one patch after another as git am does. After each the tree has to be
// formatted, to compile and to pass go vet with its tests, and the tests that the series has brought so far have to pass. After the
// last one it has to be the fork, but for what is left out. What was done is told to out.
func (p *Project) VerifySeries(ctx context.Context, run RunFunc, dir string, out io.Writer, from int) error {
	patches, want, err := p.SeriesPatches(ctx, run, "mongofork <mongofork@localhost>")
	if err != nil {
		return err
	}
	pristine, err := p.Pristine(ctx)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	v := &seriesCheck{ctx: ctx, dir: dir, run: run, upstream: pristine.Tree,
		git: &gitRepo{ctx: ctx, dir: dir, run: run, name: "mongofork", address: "mongofork@localhost"}}
	v.git.git("init", "--quiet")
	v.git.commit(pristine.Tree, "upstream")
	for i, patch := range patches[1:] {
		if err := v.apply(patch); err != nil {
			return err
		}
		if i+1 < from {
			continue
		}
		done, err := v.check(patch)
		if err != nil {
			return fmt.Errorf("%s: %w (the tree is in %s)", patch.Name, err, dir)
		}
		fmt.Fprintf(out, "%s: %s\n", patch.Name, done)
	}
	return v.compare(want)
}

type seriesCheck struct {
	ctx      context.Context
	dir      string
	run      RunFunc
	upstream Tree
	git      *gitRepo
}

func (v *seriesCheck) apply(patch SeriesPatch) error {
	file := filepath.Join(v.dir, ".git", patch.Name)
	if v.git.err == nil {
		v.git.err = os.WriteFile(file, patch.Data, 0o644)
	}
	v.git.git("am", "--quiet", file)
	return v.git.err
}

// goTool runs the go command in the tree.
func (v *seriesCheck) goTool(args ...string) (string, error) {
	out, err := v.run(v.ctx, v.dir, []string{"GOFLAGS=-mod=readonly", "GOWORK=off"}, "go", args...)
	if err != nil {
		err = fmt.Errorf("go %s: %w: %s", strings.Join(args[:min(len(args), 6)], " "), err, out)
	}
	return string(out), err
}

// check checks the tree after a patch and says what was looked at.
func (v *seriesCheck) check(patch SeriesPatch) (string, error) {
	var unformatted []string
	for _, name := range patch.Changed {
		data, err := os.ReadFile(filepath.Join(v.dir, filepath.FromSlash(name)))
		if err == nil && isGoFile(name) && !isFormatted(data) {
			unformatted = append(unformatted, name)
		}
	}
	if len(unformatted) > 0 {
		return "", fmt.Errorf("gofmt: %s", strings.Join(unformatted, ", "))
	}
	if _, err := v.goTool("build", "./..."); err != nil {
		return "", err
	}
	packages, err := v.affected(patch.Changed)
	if err != nil {
		return "", err
	}
	// Upstream's own tests do not pass these two checks.
	if _, err := v.goTool(append([]string{"vet", "-composites=false", "-lostcancel=false"}, packages...)...); err != nil {
		return "", err
	}
	folders, tests, err := v.tests()
	return fmt.Sprintf("%d packages built and vetted; %d tests in %d folders passed", len(packages), tests, folders), err
}

// affected returns the packages of the changed files and those that import them, directly or not, for their tests too.
func (v *seriesCheck) affected(changed []string) ([]string, error) {
	list, err := v.goTool("list", "-e", "-test", "-f", "{{.ImportPath}} {{join .Deps \" \"}}", "./...")
	if err != nil {
		return nil, err
	}
	module, err := v.goTool("list", "-m")
	if err != nil {
		return nil, err
	}
	touched := map[string]bool{}
	for _, name := range changed {
		if isGoFile(name) {
			touched[path.Join(strings.TrimSpace(module), path.Dir(name))] = true
		}
	}
	var packages []string
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		name, isTest := strings.CutSuffix(fields[0], ".test")
		if !isTest && !touched[name] && !slices.ContainsFunc(fields[1:], func(dep string) bool { return touched[dep] }) {
			continue
		}
		if isTest && !slices.ContainsFunc(fields[1:], func(dep string) bool { return touched[dep] }) {
			continue
		}
		packages = append(packages, name)
	}
	slices.Sort(packages)
	packages = slices.DeleteFunc(slices.Compact(packages), func(name string) bool { return strings.HasSuffix(name, "_test") })
	if len(packages) == 0 {
		packages = []string{"./..."}
	}
	return packages, nil
}

// tests runs the tests that the series has brought so far. The go command remembers those that nothing changed for.
func (v *seriesCheck) tests() (folders, tests int, err error) {
	out := string(v.git.git("ls-files", "*_test.go"))
	byFolder := map[string][]string{}
	for name := range strings.Lines(out) {
		name = strings.TrimSpace(name)
		if _, theirs := v.upstream[name]; theirs || !isGoFile(name) || strings.HasPrefix(name, serverTests) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(v.dir, filepath.FromSlash(name)))
		if err != nil {
			return 0, 0, err
		}
		source, err := parseSource(name, data)
		if err != nil {
			return 0, 0, err
		}
		for _, d := range source.Decls {
			if d.Kind == Func && isTestName(d.Key.Name) {
				byFolder[path.Dir(name)] = append(byFolder[path.Dir(name)], d.Key.Name)
			}
		}
	}
	for _, folder := range sortedKeys(byFolder) {
		if _, err := v.goTool("test", "-run", "^("+strings.Join(byFolder[folder], "|")+")$", "./"+folder); err != nil {
			return 0, 0, err
		}
		tests += len(byFolder[folder])
	}
	return len(byFolder), tests, v.git.err
}

// serverTests holds the tests that need a server; they are vetted alone.
const serverTests = "internal/integration/"

// isTestName reports whether go test runs a function of this name.
func isTestName(name string) bool {
	return name != "TestMain" && slices.ContainsFunc([]string{"Test", "Example", "Fuzz"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// compare compares the tree that the patches have led to with the one that they were made of.
func (v *seriesCheck) compare(want Tree) error {
	for name := range strings.Lines(string(v.git.git("ls-files"))) {
		name = strings.TrimSpace(name)
		data, err := os.ReadFile(filepath.Join(v.dir, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		if there, ok := want[name]; !ok || !bytes.Equal(there, data) {
			return fmt.Errorf("after the series %s is not what the fork has", name)
		}
		delete(want, name)
	}
	if len(want) > 0 {
		return errors.New("after the series the tree lacks " + strings.Join(want.Paths(), ", "))
	}
	return v.git.err
}

package series

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mongofork/tools/command"
	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/git"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/gotest"
)

// Check says how a series is verified.
type Check struct {
	// Dir is where the patches are applied. What is in it is removed.
	Dir string
	// APIDiff and Linter are apidiff and golangci-lint as "go run" names them. Without one of them its part is left out.
	APIDiff, Linter string
	// GoTest is gotest.Go.
	GoTest func(context.Context, gotest.Command) (*gotest.Result, error)
	// Out is told what was done.
	Out io.Writer
}

// Verify applies the series to upstream's tree, one patch after another as git am does. After each the tree has to be formatted,
// to compile and to pass go vet; the tests of the packages that it changes have to pass, upstream's and the series', after the last
// patch all tests; the exported API has to stay compatible; and upstream's linters must find nothing new. After the last patch the
// tree has to be the fork, but for what is left out.
func (s *Series) Verify(ctx context.Context, run command.RunFunc, c Check) error {
	patches, _, err := s.Patches(ctx, run, git.Builder)
	if err != nil {
		return err
	}
	goal, err := s.goal()
	if err != nil {
		return err
	}
	v, err := s.newTree(ctx, run, c)
	if err != nil {
		return err
	}
	patches = patches[1:]
	for i, patch := range patches {
		if err := v.apply(patch); err != nil {
			return err
		}
		done, err := v.check(patch, i == len(patches)-1)
		if err != nil {
			return fmt.Errorf("%s: %w (the tree is in %s)", patch.Name, err, c.Dir)
		}
		fmt.Fprintf(c.Out, "%s: %s\n", patch.Name, done)
	}
	return v.compare(goal)
}

// workTree is upstream's tree with the patches that were applied.
type workTree struct {
	ctx    context.Context
	run    command.RunFunc
	opt    Check
	dir    string
	module string
	git    *git.Repository
	// accepted are findings of linters that do no harm, skips upstream's tests that may fail.
	accepted []AcceptedFinding
	skips    []gotest.Skip
}

// newTree writes upstream's tree, and once more beside it, for comparison.
func (s *Series) newTree(ctx context.Context, run command.RunFunc, c Check) (*workTree, error) {
	pristine := assemble.Pristine(s.plan.Module)
	skips, err := gotest.ReadSkips(filepath.Join(s.root, "etc", "bases", s.plan.Module.Version, "skips"))
	if err != nil {
		return nil, err
	}
	v := &workTree{ctx: ctx, run: run, opt: c, dir: c.Dir, module: s.plan.Module.Path, accepted: s.Options.Findings, skips: skips,
		git: git.At(ctx, run, c.Dir, "mongofork", "mongofork@localhost")}
	err = errors.Join(os.RemoveAll(v.dir), os.RemoveAll(v.untouched()), os.MkdirAll(v.dir, 0o755), pristine.Write(v.untouched()))
	if err != nil {
		return nil, err
	}
	v.git.Run("init", "--quiet")
	v.git.Commit(pristine, "upstream")
	v.git.Run("tag", "upstream")
	if c.APIDiff != "" && v.git.Err == nil {
		_, err = v.goTool("run", c.APIDiff, "-m", "-w", v.api("upstream"), v.module)
	}
	return v, errors.Join(v.git.Err, err)
}

// untouched is the folder of upstream's tree.
func (v *workTree) untouched() string { return v.dir + ".untouched" }

func (v *workTree) apply(patch Patch) error {
	file := filepath.Join(v.dir, ".git", patch.Name)
	if v.git.Err == nil {
		v.git.Err = os.WriteFile(file, patch.Data, 0o644)
	}
	v.git.Run("am", "--quiet", file)
	return v.git.Err
}

// goTool runs the go command in the tree.
func (v *workTree) goTool(args ...string) (string, error) {
	out, err := v.run(v.ctx, v.dir, goEnv, "go", args...)
	if err != nil {
		err = fmt.Errorf("go %s: %w: %s", strings.Join(args[:min(len(args), 6)], " "), err, out)
	}
	return string(out), err
}

// goEnv is the environment of the go command in the tree. With -trimpath all trees share what is compiled of the same files.
var goEnv = []string{"GOFLAGS=-mod=readonly -trimpath", "GOWORK=off"}

// check checks the tree after a patch and says which tests have passed.
func (v *workTree) check(patch Patch, last bool) (string, error) {
	if err := v.formatted(patch.Changed); err != nil {
		return "", err
	}
	// Upstream's own tests do not pass these two checks.
	for _, args := range [][]string{{"build", "./..."}, {"vet", "-composites=false", "-lostcancel=false", "./..."}} {
		if _, err := v.goTool(args...); err != nil {
			return "", err
		}
	}
	changed := v.folders(patch.Changed)
	tested := changed
	if last {
		tested = []string{"./..."}
	}
	done, err := v.tests(tested)
	if err == nil {
		err = v.compatible()
	}
	if err == nil {
		err = v.lint(changed)
	}
	return done, err
}

// formatted checks the formatting of files.
func (v *workTree) formatted(names []string) error {
	unformatted := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		data, err := os.ReadFile(filepath.Join(v.dir, filepath.FromSlash(name)))
		return err != nil || !syntax.IsGoFile(name) || syntax.IsFormatted(data)
	})
	if len(unformatted) > 0 {
		return fmt.Errorf("gofmt: %s", strings.Join(unformatted, ", "))
	}
	return nil
}

// folders returns the folders of the changed files, as the go command takes them, that have Go files now.
func (v *workTree) folders(changed []string) []string {
	var out []string
	for _, name := range changed {
		folder := path.Dir(name)
		files, _ := filepath.Glob(filepath.Join(v.dir, filepath.FromSlash(folder), "*.go"))
		if syntax.IsGoFile(name) && len(files) > 0 {
			out = append(out, "./"+folder)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// compare compares the tree that the patches have led to with the one that they have to lead to.
func (v *workTree) compare(goal filetree.Tree) error {
	v.git.Stage(goal)
	if differing := v.git.Run("status", "--porcelain"); len(differing) > 0 {
		return fmt.Errorf("after the series these files are not what the fork has:\n%s", differing)
	}
	return v.git.Err
}

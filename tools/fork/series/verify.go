package series

import (
	"context"
	"fmt"
	"io"
	"os"
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
	// From is the number of the first patch after which the tree is checked, from 1 on; those before it are only applied.
	From int
	// APIDiff and Linter are apidiff and golangci-lint as "go run" names them. Without one of them its part is left out, and the
	// output says so.
	APIDiff, Linter string
	// Out is told what was done.
	Out io.Writer
}

// Verify applies the series to upstream's tree, one patch after another as git am does. After each the tree has to be formatted,
// to compile and to pass go vet; the series' tests so far and upstream's own have to pass where the patch can make a difference; the
// exported API has to stay compatible; and upstream's linters must not find more than in upstream's tree. After the last patch the
// tree has to be the fork, but for what is left out.
func (s *Series) Verify(ctx context.Context, run command.RunFunc, c Check) (Verified, error) {
	var verified Verified
	patches, _, err := s.Patches(ctx, run, git.Builder)
	if err != nil {
		return verified, err
	}
	goal, err := s.goal()
	if err != nil {
		return verified, err
	}
	v, err := s.newTree(ctx, run, c)
	if err != nil {
		return verified, err
	}
	patches = patches[1:]
	first := min(max(c.From, 1), len(patches)+1) - 1
	if err := v.begin(patches[first:]); err != nil {
		return verified, err
	}
	for i, patch := range patches {
		if err := v.apply(patch); err != nil {
			return verified, err
		}
		verified.Applied++
		if i < first {
			continue
		}
		done, err := v.check(patch, i == len(patches)-1)
		if err != nil {
			return verified, fmt.Errorf("%s: %w (the tree is in %s)", patch.Name, err, c.Dir)
		}
		verified.Checked++
		fmt.Fprintf(c.Out, "%s: %s\n", patch.Name, strings.Join(done, "; "))
	}
	return verified, v.compare(goal)
}

// workTree is upstream's tree with the patches that were applied.
type workTree struct {
	ctx      context.Context
	run      command.RunFunc
	opt      Check
	dir      string
	module   string
	upstream filetree.Tree
	git      *git.Repository
	api      apiDiff
	lint     linter
	known    map[string]string         // reason by upstream's test, "folder test"
	before   map[string]*gotest.Result // of the folders' tests in upstream's tree, as far as they were asked for
}

// newTree writes upstream's tree.
func (s *Series) newTree(ctx context.Context, run command.RunFunc, c Check) (*workTree, error) {
	pristine := assemble.Pristine(s.plan.Module)
	known, err := knownFailures(s.root, s.plan.Module.Version)
	if err != nil {
		return nil, err
	}
	if err := os.RemoveAll(c.Dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return nil, err
	}
	v := &workTree{ctx: ctx, run: run, opt: c, dir: c.Dir, upstream: pristine, known: known, lint: linter{accepted: s.Options.Findings},
		git: git.At(ctx, run, c.Dir, "mongofork", "mongofork@localhost")}
	v.git.Run("init", "--quiet")
	v.git.Commit(pristine, "upstream")
	return v, v.git.Err
}

// begin looks at upstream's tree, for what is compared after each of the patches.
func (v *workTree) begin(patches []Patch) error {
	module, err := v.goTool("list", "-m")
	if err != nil {
		return err
	}
	v.module = strings.TrimSpace(module)
	var changed []string
	for _, patch := range patches {
		changed = append(changed, patch.Changed...)
	}
	v.api = apiDiff{tool: v.opt.APIDiff, module: v.module, dir: filepath.Join(v.dir, ".git"), goTool: v.goTool}
	v.lint.tool, v.lint.goTool = v.opt.Linter, v.goTool
	if len(patches) == 0 {
		return nil
	}
	if err := v.api.begin(); err != nil {
		return err
	}
	return v.lint.begin(v.folders(changed))
}

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

// check checks the tree after a patch and says what was looked at.
func (v *workTree) check(patch Patch, last bool) ([]string, error) {
	if err := v.formatted(patch.Changed); err != nil {
		return nil, err
	}
	if _, err := v.goTool("build", "./..."); err != nil {
		return nil, err
	}
	affected, err := v.affected(patch.Changed)
	if err != nil {
		return nil, err
	}
	// Upstream's own tests do not pass these two checks.
	if _, err := v.goTool(append([]string{"vet", "-composites=false", "-lostcancel=false"}, affected...)...); err != nil {
		return nil, err
	}
	done := []string{fmt.Sprintf("%d packages vetted", len(affected))}
	touched := v.folders(patch.Changed)
	for _, part := range []func() (string, error){
		func() (string, error) { return v.tests(affected, touched, last) },
		v.api.check,
		func() (string, error) { return v.lint.check(touched) },
	} {
		said, err := part()
		if err != nil {
			return nil, err
		}
		done = append(done, said)
	}
	return done, nil
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

package series

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mongofork/tools/gotest"
)

// tests runs the tests of some packages that need no server, upstream's and the series', and says what passed. Upstream's may fail if
// they are listed, or fail in upstream's tree as well.
func (v *workTree) tests(folders []string) (string, error) {
	if len(folders) == 0 {
		return "no package changed", nil
	}
	in := func(dir string) func(gotest.Command) (*gotest.Result, error) {
		return func(c gotest.Command) (*gotest.Result, error) {
			c.Dir = dir
			return v.opt.GoTest(v.ctx, c)
		}
	}
	command := gotest.Command{Env: append(os.Environ(), goEnv...), Flags: []string{"-short", "-vet=off"}, Packages: folders}
	result, err := in(v.dir)(command)
	if err != nil {
		return "", err
	}
	var failed []gotest.Case
	passed := 0
	for _, c := range result.Cases() {
		switch {
		case c.Outcome == gotest.Passed:
			passed++
		case c.Outcome != gotest.Failed || v.listed(c.Key):
		case c.Test == "":
			return "", failure(c)
		default:
			failed = append(failed, c)
		}
	}
	theirs, again, blamed, err := gotest.Appeal{Command: command, Pristine: in(v.untouched()), Fork: in(v.dir)}.Hear(failed)
	if err == nil && len(blamed) > 0 {
		err = failure(blamed[0])
	}
	said := fmt.Sprintf("%d tests passed", passed)
	if len(theirs) > 0 {
		said += fmt.Sprintf(", %d fail in upstream's tree, too", len(theirs))
	}
	if len(again) > 0 {
		said += ", some passed when repeated: " + gotest.Names(again)
	}
	return said, err
}

// listed reports whether a test of upstream's asserts what the specification has changed.
func (v *workTree) listed(key gotest.Key) bool {
	return slices.ContainsFunc(v.skips, func(skip gotest.Skip) bool {
		return key == gotest.Key{Package: v.module + "/" + skip.Package, Test: skip.Test}
	})
}

func failure(c gotest.Case) error {
	return fmt.Errorf("go test: %s failed:\n%s", c.Key, strings.Join(c.Output, "\n"))
}

// lint runs golangci-lint with upstream's own configuration on some packages. It finds only what is new in lines that the series has
// changed, and must not be accepted.
func (v *workTree) lint(folders []string) error {
	if v.opt.Linter == "" || len(folders) == 0 {
		return nil
	}
	out, err := v.goTool(append([]string{"run", v.opt.Linter, "run", "--new-from-rev=upstream", "--output.json.path=stdout",
		"--show-stats=false", "--allow-parallel-runners", "--max-issues-per-linter=0", "--max-same-issues=0", "--issues-exit-code=0"},
		folders...)...)
	if err != nil {
		return err
	}
	var report struct {
		Issues []struct {
			FromLinter, Text string
			Pos              struct{ Filename string }
		}
	}
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&report); err != nil {
		return fmt.Errorf("read what golangci-lint found: %w: %s", err, out)
	}
	var found []string
	for _, issue := range report.Issues {
		if !slices.ContainsFunc(v.accepted, func(a AcceptedFinding) bool { return a.File == issue.Pos.Filename && a.Text == issue.Text }) {
			found = append(found, fmt.Sprintf("%s: %s (%s)", issue.Pos.Filename, issue.Text, issue.FromLinter))
		}
	}
	if len(found) > 0 {
		return fmt.Errorf("upstream's linters find: %s", strings.Join(found, "; "))
	}
	return nil
}

// api is where the exported API of a tree is kept.
func (v *workTree) api(name string) string { return filepath.Join(v.dir, ".git", "api-"+name) }

// compatible checks that the exported API has all that upstream's has.
func (v *workTree) compatible() error {
	if v.opt.APIDiff == "" {
		return nil
	}
	if _, err := v.goTool("run", v.opt.APIDiff, "-m", "-w", v.api("now"), v.module); err != nil {
		return err
	}
	out, err := v.goTool("run", v.opt.APIDiff, "-m", "-incompatible", v.api("upstream"), v.api("now"))
	if err == nil && strings.Contains("\n"+out, "\n- ") {
		err = fmt.Errorf("the exported API breaks:\n%s", out)
	}
	return err
}

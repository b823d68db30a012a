package series

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mongofork/tools/fork/syntax"
	"mongofork/tools/gotest"
)

// tests runs what a patch can break: all tests of the packages that it touches, upstream's and the series', and of the other packages
// that it affects those of the series. After the last patch all tests of the series run. Tests that need a server are vetted alone.
func (v *workTree) tests(affected, touched []string, last bool) (string, error) {
	own, err := v.ownTests()
	if err != nil {
		return "", err
	}
	touched = slices.DeleteFunc(slices.Clone(touched), needsServer)
	whole, err := v.goTest(v.dir, touched)
	if err != nil {
		return "", err
	}
	var rest, functions []string
	for _, folder := range slices.Sorted(maps.Keys(own)) {
		affects := last || slices.Contains(affected, folder) || slices.Equal(affected, []string{"./..."})
		if affects && !slices.Contains(touched, folder) {
			rest = append(rest, folder)
			functions = append(functions, own[folder]...)
		}
	}
	slices.Sort(functions)
	others, err := v.goTest(v.dir, rest, "-run", gotest.AnyOf(slices.Compact(functions)))
	if err != nil {
		return "", err
	}
	return v.judge(own, gotest.Merge(whole, others))
}

// needsServer reports whether the tests of a folder need a server.
func needsServer(folder string) bool { return strings.HasPrefix(folder+"/", "./internal/integration/") }

// ownTests returns the tests that the series has brought so far, by folder.
func (v *workTree) ownTests() (map[string][]string, error) {
	own := map[string][]string{}
	for name := range strings.Lines(string(v.git.Run("ls-files", "*_test.go"))) {
		name = strings.TrimSpace(name)
		folder := "./" + path.Dir(name)
		if _, theirs := v.upstream[name]; theirs || !syntax.IsGoFile(name) || needsServer(folder) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(v.dir, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		source, err := syntax.Parse(name, data)
		if err != nil {
			return nil, err
		}
		for _, d := range source.Decls {
			if d.Kind == syntax.Func && syntax.IsTestName(d.Key.Name) {
				own[folder] = append(own[folder], d.Key.Name)
			}
		}
	}
	return own, v.git.Err
}

// goTest runs tests of some folders of a tree. Failed tests are no error.
func (v *workTree) goTest(dir string, folders []string, flags ...string) (*gotest.Result, error) {
	if len(folders) == 0 {
		return gotest.NewResult(), nil
	}
	args := slices.Concat([]string{"test", "-json", "-short", "-vet=off"}, flags, folders)
	out, err := v.run(v.ctx, dir, goEnv, "go", args...)
	result, parseErr := gotest.Parse(bytes.NewReader(out))
	if err = errors.Join(err, parseErr); err == nil || (parseErr == nil && v.ctx.Err() == nil && result.Count().Failed > 0) {
		return result, nil
	}
	return nil, fmt.Errorf("go test %s: %w: %s", strings.Join(folders, " "), err, strings.Join(result.Stray, "\n"))
}

// judge reports failures that the series is to blame for, and else what passed.
func (v *workTree) judge(own map[string][]string, result *gotest.Result) (string, error) {
	var passed, theirs int
	failed := map[string][]gotest.Case{}
	for _, c := range result.Cases() {
		folder := "." + strings.TrimPrefix(c.Package, v.module)
		ours := slices.Contains(own[folder], gotest.TopLevel(c.Test))
		switch {
		case c.Outcome == gotest.Passed && ours:
			passed++
		case c.Outcome == gotest.Passed:
			theirs++
		case c.Outcome == gotest.Failed && (ours || c.Test == ""):
			return "", failure(c)
		case c.Outcome == gotest.Failed:
			failed[folder] = append(failed[folder], c)
		}
	}
	said := fmt.Sprintf("%d tests of the series and %d of upstream's passed", passed, theirs)
	for _, folder := range slices.Sorted(maps.Keys(failed)) {
		excuses, err := v.excuse(folder, failed[folder])
		if err != nil {
			return "", err
		}
		for _, why := range slices.Sorted(maps.Keys(excuses)) {
			tests := slices.Compact(slices.Sorted(slices.Values(excuses[why])))
			said += fmt.Sprintf(", %d of %s failed that %s (%s)", len(excuses[why]), folder, why, strings.Join(tests, ", "))
		}
	}
	return said, nil
}

func failure(c gotest.Case) error {
	return fmt.Errorf("go test: %s failed: %s", c.Key, strings.Join(c.Output, ""))
}

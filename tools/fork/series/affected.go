package series

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mongofork/tools/fork/syntax"
)

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

// affected returns the folders of the packages of the changed files and of those that import them, directly or not, for their tests
// too.
func (v *workTree) affected(changed []string) ([]string, error) {
	list, err := v.goTool("list", "-e", "-test", "-f", "{{.ImportPath}} {{join .Deps \" \"}}", "./...")
	if err != nil {
		return nil, err
	}
	touched := map[string]bool{}
	for _, folder := range v.folders(changed) {
		touched[path.Join(v.module, folder)] = true
	}
	var out []string
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		name, isTest := strings.CutSuffix(fields[0], ".test")
		if strings.HasSuffix(name, "_test") {
			continue // the package is listed by its test
		}
		imports := slices.ContainsFunc(fields[1:], func(dep string) bool { return touched[dep] })
		if imports || (!isTest && touched[name]) {
			out = append(out, "."+strings.TrimPrefix(name, v.module))
		}
	}
	slices.Sort(out)
	if out = slices.Compact(out); len(out) == 0 {
		out = []string{"./..."}
	}
	return out, nil
}

package suite

import (
	"errors"
	"go/build"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mongofork/tools/gotest"
)

// Module is the path of upstream's module, and so of the fork.
const Module = "go.mongodb.org/mongo-driver/v2"

// trees are the two modules that upstream's tests run in, as folders below the root of the repository.
type trees struct {
	fork, pristine string
	// own are the tests that only the fork has, all those of the fork, and lost are upstream's that the fork lacks.
	own, all, lost functions
}

// functions are test functions by the folder of their package.
type functions map[string][]string

// readTrees finds the tests in both trees, which are built.
func readTrees(root, base, fork string) (*trees, error) {
	t := &trees{fork: fork, pristine: path.Join("build", "pristine", base)}
	all, allErr := readFunctions(filepath.Join(root, t.fork))
	upstream, upstreamErr := readFunctions(filepath.Join(root, t.pristine))
	t.own, t.all, t.lost = all.without(upstream), all, upstream.without(all)
	return t, errors.Join(allErr, upstreamErr)
}

// testFunction matches what go test runs, if only as a fuzz test with its seeds.
var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)(?:[^a-z\W]\w*)?)\(`)

// readFunctions finds the test functions in the files of a tree, except files that the build constraints exclude on this machine.
func readFunctions(tree string) (functions, error) {
	found := functions{}
	err := filepath.WalkDir(tree, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "testdata":
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		relative, err := filepath.Rel(tree, name)
		if err != nil {
			return err
		}
		relative = filepath.ToSlash(relative)
		matches, err := build.Default.MatchFile(filepath.Split(name))
		if err != nil || !matches {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, match := range testFunction.FindAllSubmatch(text, -1) {
			if function := string(match[1]); function != "TestMain" {
				found[path.Dir(relative)] = append(found[path.Dir(relative)], function)
			}
		}
		return nil
	})
	return found, err
}

// has reports whether a test is, or belongs to, one of the functions.
func (f functions) has(key gotest.Key) bool {
	return slices.Contains(f[folderOf(key)], gotest.TopLevel(key.Test))
}

// folderOf is the folder of a test's package, in the module.
func folderOf(key gotest.Key) string {
	if key.Package == Module {
		return "."
	}
	return strings.TrimPrefix(key.Package, Module+"/")
}

// without returns the functions that the others lack.
func (f functions) without(others functions) functions {
	rest := functions{}
	for folder, names := range f {
		for _, name := range names {
			if !slices.Contains(others[folder], name) {
				rest[folder] = append(rest[folder], name)
			}
		}
	}
	return rest
}

// in returns the functions in the folders that keep accepts.
func (f functions) in(keep func(folder string) bool) functions {
	kept := functions{}
	for folder, names := range f {
		if keep(folder) {
			kept[folder] = names
		}
	}
	return kept
}

// folders returns the folders as arguments of the go command.
func (f functions) folders() []string {
	var folders []string
	for folder := range f {
		folders = append(folders, "./"+folder)
	}
	slices.Sort(folders)
	return folders
}

// names returns all names, each once.
func (f functions) names() []string {
	var names []string
	for _, more := range f {
		names = append(names, more...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

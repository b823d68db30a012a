package suite

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"mongofork/tools/gotest"
)

// ownTests are the test functions that the overlay adds to the fork, by the
// folder of their package.
type ownTests map[string][]string

// findOwnTests reads the test functions of the overlay's files as they stand in the fork, except files that the build constraints
// exclude on this machine.
func findOwnTests(fork string, overlay []string) (ownTests, error) {
	own := ownTests{}
	for _, file := range overlay {
		if !strings.HasSuffix(file, "_test.go") || inTestdata(file) {
			continue
		}
		if err := own.addFile(fork, file); err != nil {
			return nil, fmt.Errorf("find the tests of the overlay: %w", err)
		}
	}
	return own, nil
}

// addFile adds the test functions of one overlay file, as it is in the fork.
func (own ownTests) addFile(fork, name string) error {
	file := filepath.Join(fork, filepath.FromSlash(name))
	matches, err := build.Default.MatchFile(filepath.Split(file))
	if err != nil || !matches {
		return err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	folder := path.Dir(name)
	for _, declaration := range parsed.Decls {
		f, ok := declaration.(*ast.FuncDecl)
		if ok && f.Recv == nil && isTest(f.Name.Name) {
			own[folder] = append(own[folder], f.Name.Name)
		}
	}
	sort.Strings(own[folder])
	return nil
}

// isTest reports whether go test runs a function of that name, if only as a fuzz test with its seeds.
func isTest(name string) bool {
	if name == "TestMain" {
		return false
	}
	return slices.ContainsFunc([]string{"Test", "Fuzz", "Example"}, func(prefix string) bool {
		rest, ok := strings.CutPrefix(name, prefix)
		return ok && (rest == "" || rest[0] < 'a' || rest[0] > 'z')
	})
}

// has reports whether the test is one of ours.
func (own ownTests) has(key gotest.Key) bool {
	folder := strings.TrimPrefix(key.Package, Module+"/")
	return slices.Contains(own[folder], gotest.TopLevel(key.Test))
}

// folders returns the folders that have tests of ours and for which keep returns true.
func (own ownTests) folders(keep func(folder string) bool) []string {
	var folders []string
	for folder, functions := range own {
		if len(functions) > 0 && keep(folder) {
			folders = append(folders, folder)
		}
	}
	sort.Strings(folders)
	return folders
}

// unrun returns the test functions of a folder that a run did not report, neither them nor a subtest: a result may hold only the
// leaves. Examples are left out, because go test runs only those that state their output.
func (own ownTests) unrun(folder string, result *gotest.Result) []string {
	ran := map[string]bool{}
	for _, c := range result.Cases() {
		if c.Package == Module+"/"+folder {
			ran[gotest.TopLevel(c.Test)] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(own[folder]), func(function string) bool {
		return ran[function] || strings.HasPrefix(function, "Example")
	})
}

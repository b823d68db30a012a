package suite

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	overlay "mongofork/tools/fork"
	"mongofork/tools/rig/gotest"
)

// ownTests are the test functions that the overlay adds to the fork, by the
// folder of their package.
type ownTests map[string][]string

// findOwnTests reads the test functions of the overlay's test files, except files that are not in the fork or that the build
// constraints exclude on this machine.
func findOwnTests(root, fork string) (ownTests, error) {
	folders, err := overlayFolders(root)
	if err != nil {
		return nil, err
	}
	own := ownTests{}
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, filepath.FromSlash(folder)), func(file string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if entry.IsDir() && entry.Name() == "testdata" {
				return fs.SkipDir
			}
			if !entry.Type().IsRegular() || !strings.HasSuffix(file, "_test.go") {
				return nil
			}
			relative, err := filepath.Rel(root, file)
			if err != nil {
				return err
			}
			return own.addFile(fork, filepath.ToSlash(relative))
		})
		if err != nil {
			return nil, fmt.Errorf("find the tests of the overlay: %w", err)
		}
	}
	return own, nil
}

// overlayFolders returns the overlay's folders, as the builder reads them. All must exist, because no test of a missing one would
// run.
func overlayFolders(root string) ([]string, error) {
	listed, err := (&overlay.Project{Root: root}).Folders()
	if err != nil {
		return nil, fmt.Errorf("read the overlay's folders: %w", err)
	}
	var folders []string
	for _, folder := range listed {
		if !isDir(filepath.Join(root, filepath.FromSlash(folder.Path))) {
			return nil, fmt.Errorf("%s:%d: there is no folder %s; create it or remove the line", folder.File, folder.Line, folder.Path)
		}
		folders = append(folders, folder.Path)
	}
	return folders, nil
}

// addFile adds the test functions of one overlay file, as it is in the fork.
func (own ownTests) addFile(fork, name string) error {
	file := filepath.Join(fork, filepath.FromSlash(name))
	if _, err := os.Stat(file); os.IsNotExist(err) {
		return nil
	}
	matches, err := build.Default.MatchFile(filepath.Dir(file), filepath.Base(file))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if !matches {
		return nil
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

package suite

import (
	"errors"
	"fmt"
	"go/build"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mongofork/tools/strict"
)

// Module is the path of upstream's module, and so of the fork.
const Module = "go.mongodb.org/mongo-driver/v2"

// The packages with the tests that need a server, the second one with the runner of the specifications' unified tests.
const integration, unified = "./internal/integration", integration + "/unified"

func needsServer(test key) bool { return strings.HasPrefix(test.Package+"/", integration+"/") }

func needsNoServer(test key) bool { return !needsServer(test) }

func isUnified(test key) bool { return test.Package == unified }

// trees are the two modules that upstream's tests run in, as folders below the root of the repository.
type trees struct {
	*Rig
	fork, pristine string
	// upstreams are the tests of the untouched module, own those that only the fork has, and lost those that it lacks.
	upstreams, own, lost functions
	// skips are the entries of the skip list, by upstream's tests that may fail in the fork.
	skips map[key]skip
}

// readTrees reads the trees, which have to be there.
func (r *Rig) readTrees(fork string) (t trees, err error) {
	t = trees{Rig: r, fork: fork, pristine: path.Join("build", "pristine", r.Base)}
	all, allErr := readFunctions(r.file(t.fork))
	upstreams, upstreamErr := readFunctions(r.file(t.pristine))
	if err := errors.Join(allErr, upstreamErr); err != nil {
		return t, fmt.Errorf("%w (make trees builds them)", err)
	}
	t.upstreams, t.own, t.lost = upstreams, all.in(upstreams.lacks), upstreams.in(all.lacks)
	t.skips, err = r.readSkips()
	return t, err
}

// functions are test functions.
type functions map[key]bool

// in returns the functions that keep accepts.
func (f functions) in(keep func(key) bool) functions {
	kept := maps.Clone(f)
	maps.DeleteFunc(kept, func(function key, _ bool) bool { return !keep(function) })
	return kept
}

func (f functions) lacks(function key) bool { return !f[function] }

// packages and names return those of all functions, each once.
func (f functions) packages() []string { return f.every(func(k key) string { return k.Package }) }

func (f functions) names() []string { return f.every(func(k key) string { return k.Test }) }

func (f functions) every(of func(key) string) (all []string) {
	for function := range f {
		all = append(all, of(function))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// testFunction matches what go test runs, if only as a fuzz test with its seeds.
var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)(?:[^a-z\W]\w*)?)\(`)

// readFunctions finds the test functions in the files of a tree, except files that the build constraints exclude on this machine.
func readFunctions(tree string) (functions, error) {
	found := functions{}
	root := os.DirFS(tree)
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "testdata":
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		folder, file := path.Split(name)
		matches, matchErr := build.Default.MatchFile(filepath.Join(tree, folder), file)
		text, readErr := fs.ReadFile(root, name)
		if err := errors.Join(matchErr, readErr); err != nil || !matches {
			return err
		}
		for _, match := range testFunction.FindAllSubmatch(text, -1) {
			if function := string(match[1]); function != "TestMain" {
				found[key{"./" + path.Clean(folder), function}] = true
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", tree, err)
	}
	return found, nil
}

// skip is an entry of the skip list: why tests of upstream's may fail in the fork, what the specification demands instead, and which test
// of ours asserts that.
type skip struct {
	Reason    string
	Successor key
	Tests     []key
}

// skipFile is the skip list's path below the root.
func (r *Rig) skipFile() string { return "etc/bases/" + r.Base + "/skips" }

// readSkips reads the skip list. Without a file it is empty.
func (r *Rig) readSkips() (map[key]skip, error) {
	var entries []skip
	if err := strict.Read(r.file(r.skipFile()), &entries); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	skips := map[key]skip{}
	for i, e := range entries {
		if e.Reason == "" || e.Successor.Test == "" || len(e.Tests) == 0 {
			return nil, fmt.Errorf("%s: entry %d needs reason, successor and tests", r.skipFile(), i+1)
		}
		for _, test := range e.Tests {
			if test.Test == "" || skips[test].Reason != "" {
				return nil, fmt.Errorf("%s: entry %d: %q names no test, or is listed twice", r.skipFile(), i+1, test)
			}
			skips[test] = e
		}
	}
	return skips, nil
}

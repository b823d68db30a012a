// Package specs provides the official driver specification tests at pinned revisions, from a local folder or from the public
// repository.
package specs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/lockedfile"

	"mongofork/tools/command"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/strict"
)

// ErrUnavailable means that the specification tests are not available on this machine. The text of an error that wraps it is one
// line with what to do about it.
var ErrUnavailable = errors.New("no specification tests are available")

// Revision is one pinned state of the specifications repository: its commit, and the "h1:" hash of its test files.
type Revision struct{ Commit, Hash string }

// Base names the revisions whose tests run with one version of upstream: that of upstream's own tests, and the one that the fork follows.
type Base struct{ Upstream, Fork string }

// Store provides specification tests.
type Store struct {
	// Root is the root of the repository; copies are kept in build/specifications below it.
	Root string
	// Pins are the known revisions by name.
	Pins map[string]Revision
	// Local is the user's folder, or empty. It holds either a folder for each revision or one checkout.
	Local string
	// Repository is the address of the public git repository.
	Repository string
	// Progress receives a line for every step that takes a while.
	Progress io.Writer
}

// Open returns the store of a repository, and the revisions of a base.
func Open(root, base string, progress io.Writer) (s *Store, b Base, err error) {
	s = &Store{
		Root: root, Local: os.Getenv("SPECIFICATIONS"), Repository: "https://github.com/mongodb/specifications", Progress: progress,
	}
	file := filepath.Join(root, "etc", "bases", base, "specifications")
	for name, to := range map[string]any{filepath.Join(root, "etc", "specifications"): &s.Pins, file: &b} {
		if err := strict.Read(name, to); err != nil {
			return nil, b, fmt.Errorf("read the revisions of the specifications: %w", err)
		}
	}
	if s.Pins[b.Upstream] == (Revision{}) || s.Pins[b.Fork] == (Revision{}) {
		return nil, b, fmt.Errorf("%s: want upstream and fork, with names that etc/specifications pins", file)
	}
	return s, b, nil
}

// Project returns a folder that holds the tests of the named revision in testdata/specifications, where upstream's tests look for
// them below $PROJECT_DIRECTORY. The files are always verified against the pinned hash.
func (s *Store) Project(ctx context.Context, name string) (string, error) {
	parent := filepath.Join(s.Root, "build", "specifications")
	project, data := filepath.Join(parent, name), filepath.Join("testdata", "specifications")
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	unlock, err := lockedfile.MutexAt(project + ".lock").Lock() // suites that run side by side may want the same revision
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, is := s.Pins[name].in(filepath.Join(project, data)); is {
		return project, nil
	}
	files, err := s.find(ctx, name)
	if err != nil {
		return "", err
	}
	if err := os.RemoveAll(project); err != nil {
		return "", err
	}
	return project, files.Write(filepath.Join(project, data))
}

// find returns the test files of a revision: from the user's folder, from one shared by several checkouts of the project, or from the
// public repository.
func (s *Store) find(ctx context.Context, name string) (filetree.Tree, error) {
	revision := s.Pins[name]
	for _, folder := range []string{
		filepath.Join(s.Local, name), s.Local, filepath.Join(s.Root, "..", "shared", "specifications", name),
	} {
		if files, is := revision.in(folder); is {
			return files, nil
		}
	}
	fmt.Fprintf(s.Progress, "downloading the specification tests %s from %s\n", name, s.Repository)
	clone, err := os.MkdirTemp("", "specifications-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(clone)
	for _, args := range [][]string{
		{"init", "--quiet"}, {"fetch", "--quiet", "--depth=1", s.Repository, revision.Commit},
		{"checkout", "--quiet", "FETCH_HEAD"},
	} {
		if _, err := command.Output(ctx, clone, []string{"GIT_DIR=.git", "GIT_WORK_TREE=."}, "git", args...); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, fmt.Errorf("%w: %s: %s; set SPECIFICATIONS to a checkout of mongodb/specifications at %s",
				ErrUnavailable, s.Repository, strings.TrimSpace(err.Error()), revision.Commit)
		}
	}
	files, is := revision.in(clone)
	if !is {
		return nil, fmt.Errorf("the specification tests %s are not the pinned ones", name)
	}
	return files, nil
}

// wanted reports whether a file of the specifications repository is test data: source/<specification>/.../tests/.../name.json.
func wanted(name string) bool {
	return strings.HasPrefix(name, "source/") && strings.Contains(name, "/tests/") && path.Ext(name) == ".json"
}

// in returns the test files of a checkout, and reports whether they are exactly those of the revision.
func (r Revision) in(checkout string) (filetree.Tree, bool) {
	files := filetree.Tree{}
	err := fs.WalkDir(os.DirFS(checkout), "source", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && wanted(name) {
			files[name], err = os.ReadFile(filepath.Join(checkout, filepath.FromSlash(name)))
		}
		return err
	})
	hash, hashErr := files.Hash("")
	return files, err == nil && hashErr == nil && hash == r.Hash
}

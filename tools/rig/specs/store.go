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
	"sync"

	"mongofork/tools/command"
	"mongofork/tools/fork/filetree"
)

// ErrUnavailable means that the specification tests are not available on this machine. The text of an error that wraps it is one
// line with what to do about it.
var ErrUnavailable = errors.New("no specification tests are available")

// Repository is the public repository.
const Repository = "https://github.com/mongodb/specifications"

// Store provides specification tests. All fields are required.
type Store struct {
	// Root is the root of the repository; copies are kept in build/specifications below it.
	Root string
	// Pins are the known revisions.
	Pins map[string]Revision
	// Local is the user's folder, or empty. It holds either a folder for each revision or one checkout.
	Local string
	// Repository is the address of the public git repository.
	Repository string
	// Run runs git.
	Run command.RunFunc
	// Progress receives a line for every step that takes a while.
	Progress io.Writer

	mu sync.Mutex
}

// Project returns a folder that holds the tests of the named revision in testdata/specifications, where upstream's tests look for
// them below $PROJECT_DIRECTORY. The files are always verified against the pinned hash.
func (s *Store) Project(ctx context.Context, name string) (string, error) {
	s.mu.Lock() // suites that run side by side may want the same revision
	defer s.mu.Unlock()
	revision, ok := s.Pins[name]
	if !ok {
		return "", fmt.Errorf("etc/specifications pins no revision %q", name)
	}
	parent := filepath.Join(s.Root, "build", "specifications")
	project, data := filepath.Join(parent, name), filepath.Join("testdata", "specifications")
	if _, is := revision.in(filepath.Join(project, data)); is {
		return project, nil
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	files, err := s.find(ctx, revision)
	if err != nil {
		return "", err
	}
	temp, err := os.MkdirTemp(parent, "."+name+"-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	if err := errors.Join(files.Write(filepath.Join(temp, data)), os.RemoveAll(project)); err != nil {
		return "", err
	}
	return project, os.Rename(temp, project)
}

// find returns the test files of a revision: from the user's folder, from one shared by several checkouts of the project, or from the
// public repository.
func (s *Store) find(ctx context.Context, revision Revision) (filetree.Tree, error) {
	for _, folder := range []string{
		filepath.Join(s.Local, revision.Name), s.Local, filepath.Join(s.Root, "..", "shared", "specifications", revision.Name),
	} {
		if files, is := revision.in(folder); is {
			return files, nil
		}
	}
	fmt.Fprintf(s.Progress, "downloading the specification tests %s from %s\n", revision.Name, s.Repository)
	clone, err := os.MkdirTemp("", "specifications-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(clone)
	for _, args := range [][]string{
		{"init", "--quiet"}, {"fetch", "--quiet", "--depth=1", s.Repository, revision.Commit},
		{"checkout", "--quiet", "FETCH_HEAD"},
	} {
		if _, err := s.Run(ctx, clone, []string{"GIT_DIR=.git", "GIT_WORK_TREE=."}, "git", args...); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, fmt.Errorf("%w: %s: %s; set SPECIFICATIONS to a checkout of mongodb/specifications at %s",
				ErrUnavailable, s.Repository, strings.TrimSpace(err.Error()), revision.Commit)
		}
	}
	files, is := revision.in(clone)
	if !is {
		return nil, fmt.Errorf("the specification tests %s are not the pinned ones", revision.Name)
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

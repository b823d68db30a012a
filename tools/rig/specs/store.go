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

	"golang.org/x/mod/sumdb/dirhash"

	"mongofork/tools/command"
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
	if revision.is(filepath.Join(project, data)) {
		return project, nil
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	temp, err := os.MkdirTemp(parent, "."+name+"-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	if err := s.fill(ctx, revision, filepath.Join(temp, data)); err != nil {
		return "", err
	}
	if !revision.is(filepath.Join(temp, data)) {
		return "", fmt.Errorf("the specification tests %s are not the pinned ones", name)
	}
	if err := os.RemoveAll(project); err != nil {
		return "", err
	}
	return project, os.Rename(temp, project)
}

// fill writes the test files of a revision to a new folder: from the user's folder, from one shared by several checkouts of the
// project, or from the public repository.
func (s *Store) fill(ctx context.Context, revision Revision, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, folder := range []string{
		filepath.Join(s.Local, revision.Name), s.Local, filepath.Join(s.Root, "..", "shared", "specifications", revision.Name),
	} {
		if revision.is(folder) {
			return copyTests(folder, dir)
		}
	}
	fmt.Fprintf(s.Progress, "downloading the specification tests %s from %s\n", revision.Name, s.Repository)
	clone, err := os.MkdirTemp("", "specifications-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(clone)
	for _, args := range [][]string{
		{"init", "--quiet"}, {"fetch", "--quiet", "--depth=1", s.Repository, revision.Commit},
		{"checkout", "--quiet", "FETCH_HEAD"},
	} {
		if _, err := s.Run(ctx, clone, []string{"GIT_DIR=.git", "GIT_WORK_TREE=."}, "git", args...); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("%w: %s: %s; set SPECIFICATIONS to a checkout of mongodb/specifications at %s",
				ErrUnavailable, s.Repository, strings.TrimSpace(err.Error()), revision.Commit)
		}
	}
	return copyTests(clone, dir)
}

// wanted reports whether a file of the specifications repository is test data: source/<specification>/.../tests/.../name.json.
func wanted(name string) bool {
	return strings.HasPrefix(name, "source/") && strings.Contains(name, "/tests/") && path.Ext(name) == ".json"
}

// tests returns the test files of a checkout.
func tests(checkout string) (files []string, err error) {
	err = fs.WalkDir(os.DirFS(checkout), "source", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && wanted(name) {
			files = append(files, name)
		}
		return err
	})
	return files, err
}

// is reports whether a checkout has exactly the test files of the revision.
func (r Revision) is(checkout string) bool {
	files, err := tests(checkout)
	if err != nil {
		return false
	}
	hash, err := dirhash.Hash1(files, func(name string) (io.ReadCloser, error) {
		return os.Open(filepath.Join(checkout, filepath.FromSlash(name)))
	})
	return err == nil && hash == r.Hash
}

// copyTests copies the test files of a checkout to a folder.
func copyTests(checkout, dir string) error {
	files, err := tests(checkout)
	if err != nil {
		return err
	}
	for _, name := range files {
		content, err := os.ReadFile(filepath.Join(checkout, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		target := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

package specs

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/dirhash"
)

// ErrUnavailable means that the specification tests are not available on this machine. The text of an error that wraps it is one
// line with what to do about it.
var ErrUnavailable = errors.New("no specification tests are available")

// maxUnpacked bounds the test data of one revision, which has 16 MB in 2026.
const maxUnpacked = 256 << 20

// Store provides specification tests. All fields are required.
type Store struct {
	// Root is the root of the repository; copies are kept in build/specifications below it.
	Root string
	// Pins are the known revisions.
	Pins map[string]Revision
	// Local is the user's folder, or empty. It holds either a folder for each revision or one checkout.
	Local string
	// Client downloads archives, and Archive returns the address of that of a commit.
	Client  *http.Client
	Archive func(commit string) string
	// Progress receives a line for every step that takes a while.
	Progress io.Writer
}

// Archive returns the address of the public repository's archive at a commit.
func Archive(commit string) string {
	return "https://codeload.github.com/mongodb/specifications/tar.gz/" + commit
}

// Project returns a folder that holds the tests of the named revision in testdata/specifications, where upstream's tests look for
// them below $PROJECT_DIRECTORY. The files are always verified against the pinned hash.
func (s *Store) Project(ctx context.Context, name string) (string, error) {
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
	address := s.Archive(revision.Commit)
	fmt.Fprintf(s.Progress, "downloading the specification tests %s from %s\n", revision.Name, address)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := s.Client.Do(request)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.Join(errors.New(response.Status), response.Body.Close())
	}
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%w: %s: %w; set SPECIFICATIONS to a checkout of mongodb/specifications at %s", ErrUnavailable, address, err, revision.Commit)
	}
	defer response.Body.Close()
	return unpack(response.Body, dir)
}

// unpack writes the test files of a gzipped tar archive, whose entries share one top folder, to dir.
func unpack(archive io.Reader, dir string) error {
	root, err := os.OpenRoot(dir) // which nothing in the archive can leave
	if err != nil {
		return err
	}
	defer root.Close()
	uncompressed, err := gzip.NewReader(archive)
	if err != nil {
		return fmt.Errorf("read the archive: %w", err)
	}
	entries := tar.NewReader(io.LimitReader(uncompressed, maxUnpacked))
	for {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil // the files are verified
		}
		if err != nil {
			return fmt.Errorf("read the archive: %w", err)
		}
		_, name, _ := strings.Cut(entry.Name, "/")
		if entry.Typeflag != tar.TypeReg || !wanted(name) {
			continue
		}
		if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		content, err := io.ReadAll(entries)
		if err == nil {
			err = root.WriteFile(name, content, 0o644)
		}
		if err != nil {
			return fmt.Errorf("unpack %s: %w", entry.Name, err)
		}
	}
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

package specs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
)

// ErrUnavailable means that the specification tests are not available on this
// machine. The text of an error that wraps it is one line with what to do about
// it.
var ErrUnavailable = errors.New("no specification tests are available")

// Store provides specification tests. All fields are required.
type Store struct {
	// Root is the root of the repository; copies are kept in build/specifications
	// below it.
	Root string
	// Pins are the known revisions.
	Pins []Revision
	// Local is the user's folder, or empty. It holds either a folder for each revision or one checkout.
	Local string
	// Client downloads archives.
	Client *http.Client
	// Archive returns the address of the archive of a commit.
	Archive func(commit string) string
	// Progress receives a line for every step that takes a while.
	Progress io.Writer
}

// Project returns a folder that holds the tests of the named revision in testdata/specifications, where upstream's tests look for
// them below $PROJECT_DIRECTORY. The files are always verified against the pinned hash.
func (s *Store) Project(ctx context.Context, name string) (string, error) {
	i := slices.IndexFunc(s.Pins, func(r Revision) bool { return r.Name == name })
	if i < 0 {
		return "", fmt.Errorf("etc/specifications pins no revision %q", name)
	}
	revision := s.Pins[i]
	project := filepath.Join(s.Root, "build", "specifications", name)
	data := filepath.Join("testdata", "specifications")
	if verify(os.DirFS(filepath.Join(project, data)), revision) == nil {
		return project, nil
	}
	temp, err := s.tempDir(name)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	if err := s.fill(ctx, revision, filepath.Join(temp, data)); err != nil {
		return "", err
	}
	if err := os.RemoveAll(project); err != nil {
		return "", fmt.Errorf("replace the copy of the specification tests: %w", err)
	}
	if err := os.Rename(temp, project); err != nil {
		return "", fmt.Errorf("keep the specification tests: %w", err)
	}
	return project, nil
}

func (s *Store) tempDir(name string) (string, error) {
	parent := filepath.Join(s.Root, "build", "specifications")
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", fmt.Errorf("keep the specification tests: %w", err)
	}
	temp, err := os.MkdirTemp(parent, "."+name+"-")
	if err != nil {
		return "", fmt.Errorf("keep the specification tests: %w", err)
	}
	return temp, nil
}

// fill writes the test files of a revision to dir and verifies them.
func (s *Store) fill(ctx context.Context, revision Revision, dir string) error {
	source, err := s.local(revision)
	if err != nil {
		return err
	}
	if source != "" {
		if err := copyTests(os.DirFS(source), dir); err != nil {
			return fmt.Errorf("copy the specification tests from %s: %w", source, err)
		}
		return mismatch(verify(os.DirFS(dir), revision), source)
	}
	address := s.Archive(revision.Commit)
	fmt.Fprintf(s.Progress, "downloading the specification tests %s from %s\n", revision.Name, address)
	if err := s.download(ctx, revision, dir); err != nil {
		if errors.Is(err, ErrUnavailable) {
			return fmt.Errorf("%w; set SPECIFICATIONS to a checkout of mongodb/specifications at %s", err, revision.Commit)
		}
		return err
	}
	return mismatch(verify(os.DirFS(dir), revision), address)
}

// local returns the local folder that holds the revision, or an empty string: the user's, or one shared by several checkouts of
// the project.
func (s *Store) local(revision Revision) (string, error) {
	parent := s.Local
	if parent == "" {
		parent = filepath.Join(s.Root, "..", "shared", "specifications")
	}
	if dir := filepath.Join(parent, revision.Name); isCheckout(dir) {
		return dir, nil
	}
	if s.Local == "" {
		return "", nil
	}
	if !isCheckout(s.Local) {
		return "", fmt.Errorf("SPECIFICATIONS=%s holds neither %s/source nor source; point it to a checkout of mongodb/specifications at %s",
			s.Local, revision.Name, revision.Commit)
	}
	return s.single(revision)
}

// single returns the user's checkout if it may be meant for the revision, and an empty string if it is another pinned revision.
func (s *Store) single(revision Revision) (string, error) {
	hash, err := Hash(os.DirFS(s.Local))
	if err != nil {
		return "", fmt.Errorf("read SPECIFICATIONS=%s: %w", s.Local, err)
	}
	isOther := func(r Revision) bool { return r.Hash == hash && r.Name != revision.Name }
	if slices.ContainsFunc(s.Pins, isOther) {
		return "", nil
	}
	return s.Local, nil
}

func isCheckout(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, "source"))
	return err == nil && info.IsDir()
}

// verify compares the test files of a checkout with the pinned hash.
func verify(checkout fs.FS, revision Revision) error {
	hash, err := Hash(checkout)
	if err != nil {
		return err
	}
	if hash != revision.Hash {
		return fmt.Errorf("the tests hash to %s, but %s is pinned as %s", hash, revision.Name, revision.Hash)
	}
	return nil
}

// mismatch names the source of files that failed their verification.
func mismatch(err error, source string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the specification tests from %s are not the pinned ones: %w", source, err)
}

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
	"path/filepath"
	"strings"
)

// maxUnpacked bounds the test data of one revision, which has 16 MB in 2026.
const maxUnpacked = 256 << 20

// Archive returns the address of the public repository's archive at a commit.
func Archive(commit string) string {
	return "https://codeload.github.com/mongodb/specifications/tar.gz/" + commit
}

// download fetches the archive of a revision and unpacks its test files into dir.
func (s *Store) download(ctx context.Context, revision Revision, dir string) error {
	address := s.Archive(revision.Commit)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("download %s: %w", address, err)
	}
	response, err := s.Client.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: download %s: %s", ErrUnavailable, address, response.Status)
	}
	if err := unpack(response.Body, dir); err != nil {
		return fmt.Errorf("download %s: %w", address, err)
	}
	return nil
}

// unpack writes the test files of a gzipped tar archive, whose entries share one top folder, below dir. It ignores everything
// else in the archive.
func unpack(archive io.Reader, dir string) error {
	uncompressed, err := gzip.NewReader(archive)
	if err != nil {
		return fmt.Errorf("read the archive: %w", err)
	}
	left := int64(maxUnpacked)
	entries := tar.NewReader(uncompressed)
	for {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return drain(uncompressed)
		}
		if err != nil {
			return fmt.Errorf("read the archive: %w", err)
		}
		_, name, _ := strings.Cut(entry.Name, "/")
		if entry.Typeflag != tar.TypeReg || !wanted(name) {
			continue
		}
		if !fs.ValidPath(name) {
			return fmt.Errorf("the archive has a file outside of its folder: %q", entry.Name)
		}
		if left -= entry.Size; left < 0 {
			return fmt.Errorf("the archive's test files exceed %d bytes", int64(maxUnpacked))
		}
		if err := writeFile(filepath.Join(dir, filepath.FromSlash(name)), entries); err != nil {
			return fmt.Errorf("unpack %s: %w", entry.Name, err)
		}
	}
}

// drain reads what follows the last entry, so that gzip verifies its checksum.
func drain(r io.Reader) error {
	if _, err := io.Copy(io.Discard, r); err != nil {
		return fmt.Errorf("read the archive: %w", err)
	}
	return nil
}

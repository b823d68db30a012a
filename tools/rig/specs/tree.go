package specs

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/dirhash"
)

// wanted reports whether a file of the specifications repository is test data:
// source/<specification>/.../tests/.../name.json.
func wanted(name string) bool {
	return strings.HasPrefix(name, "source/") && strings.Contains(name, "/tests/") && path.Ext(name) == ".json"
}

// Hash returns the "h1:" hash over the test files of a checkout of the specifications repository; other files are ignored.
func Hash(checkout fs.FS) (string, error) {
	files, err := list(checkout)
	if err != nil {
		return "", err
	}
	return dirhash.Hash1(files, func(name string) (io.ReadCloser, error) { return checkout.Open(name) })
}

// list returns the test files of a checkout.
func list(checkout fs.FS) ([]string, error) {
	var files []string
	err := fs.WalkDir(checkout, "source", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Type().IsRegular() && wanted(name) {
			files = append(files, name)
		}
		return nil
	})
	return files, err
}

// copyTests copies the test files of a checkout to the folder dir.
func copyTests(checkout fs.FS, dir string) error {
	files, err := list(checkout)
	if err != nil {
		return err
	}
	for _, name := range files {
		if err := copyFile(checkout, name, dir); err != nil {
			return fmt.Errorf("copy %s: %w", name, err)
		}
	}
	return nil
}

func copyFile(checkout fs.FS, name, dir string) error {
	in, err := checkout.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	return writeFile(filepath.Join(dir, filepath.FromSlash(name)), in)
}

// writeFile writes a new file and its parent folders.
func writeFile(file string, content io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, content); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

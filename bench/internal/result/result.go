// Package result keeps the raw results of benchmarks as files of compressed JSON, each with the information to judge and repeat
// it.
package result

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Extension is the extension of files of results. "gzip -dc" prints one; "gzip -9n" makes one of plain JSON.
const Extension = ".json.gz"

// File is a file of results.
type File[T any] struct {
	// Command is the command that was run in the root of the repository.
	Command string `json:"command"`
	// Setting is the machine and the time; nil if they make no difference.
	Setting *Setting `json:"setting,omitempty"`
	Results T        `json:"results"`
}

// Write writes the file as indented JSON, compressed. The same results give the same bytes: the header has neither a name nor a
// time. The former file is replaced as a whole or not at all.
func (f File[T]) Write(path string) error {
	content, err := json.MarshalIndent(f, "", "\t")
	if err != nil {
		return fmt.Errorf("results for %s: %w", path, err)
	}
	var compressed bytes.Buffer
	w, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(append(content, '\n')); err != nil {
		return err
	}
	if err := errors.Join(w.Close(), os.MkdirAll(filepath.Dir(path), 0o755)); err != nil {
		return err
	}
	temporary := path + ".new"
	if err := os.WriteFile(temporary, compressed.Bytes(), 0o644); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

// Read reads a file. It returns nil, and no error, if there is none: not everything has been measured everywhere.
func Read[T any](path string) (*File[T], error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f := new(File[T])
	if err := decode(content, f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// decode reads everything before it decodes, so that truncated or damaged files are detected.
func decode(compressed []byte, to any) error {
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return err
	}
	content, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	return json.Unmarshal(content, to)
}

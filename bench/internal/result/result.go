// Package result keeps the raw results of benchmarks as JSON files, each with what is needed to judge and repeat it.
package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// File is a file of results.
type File[T any] struct {
	// Command is the command that was run in the root of the repository.
	Command string `json:"command"`
	// Setting is where it was run; nil where that makes no difference.
	Setting *Setting `json:"setting,omitempty"`
	Results T        `json:"results"`
}

// Write writes the file as indented JSON. The former file is replaced as a whole or not at all.
func (f File[T]) Write(path string) error {
	content, err := json.MarshalIndent(f, "", "\t")
	if err != nil {
		return fmt.Errorf("results for %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temporary := path + ".new"
	if err := os.WriteFile(temporary, append(content, '\n'), 0o644); err != nil {
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
	if err := json.Unmarshal(content, f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

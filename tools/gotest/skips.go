package gotest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"go.yaml.in/yaml/v3"
)

// Skip is a test of upstream's that may fail in the fork, because it asserts behaviour that the specification has changed.
type Skip struct {
	// Package is the folder of the package within the module, Test the exact, full name of the test.
	Package, Test string
	// Reason says what the specification demands instead.
	Reason string
	// Successor is "folder TestName": the test of ours that asserts it.
	Successor string
}

// String names the entry.
func (s Skip) String() string { return s.Package + " " + s.Test }

// ReadSkips reads a skip list: a YAML list whose entries have several tests of one package for the same reason. Without a file
// the list is empty.
func ReadSkips(file string) ([]Skip, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var entries []struct {
		Reason, Successor, Package string
		Tests                      []string
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&entries); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var skips []Skip
	seen := map[string]bool{}
	for i, e := range entries {
		if e.Reason == "" || e.Successor == "" || e.Package == "" || len(e.Tests) == 0 {
			return nil, fmt.Errorf("%s: entry %d needs reason, successor, package and tests", file, i+1)
		}
		for _, test := range e.Tests {
			s := Skip{e.Package, test, e.Reason, e.Successor}
			if seen[s.String()] {
				return nil, fmt.Errorf("%s: %s is listed twice", file, s)
			}
			seen[s.String()] = true
			skips = append(skips, s)
		}
	}
	return skips, nil
}

// Package specs provides the official driver specification tests at pinned
// revisions, from a local folder or from the public repository.
package specs

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// Revision is one pinned state of the specifications repository.
type Revision struct {
	// Name is the project's name for the revision.
	Name string
	// Commit is its full commit hash.
	Commit string
	// Hash is the "h1:" hash of its test files, as Hash computes it.
	Hash string
}

var (
	revisionName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]*$`)
	commitHash   = regexp.MustCompile(`^[0-9a-f]{40}$`)
	treeHash     = regexp.MustCompile(`^h1:[A-Za-z0-9+/]{43}=$`)
)

// ReadPins reads a file of lines "name commit hash". Blank lines and lines that begin with # are ignored.
func ReadPins(file string) ([]Revision, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the pinned specification revisions: %w", err)
	}
	return parsePins(string(text), file)
}

func parsePins(text, file string) ([]Revision, error) {
	var revisions []Revision
	var problems []error
	seen := map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		revision, err := parsePin(line)
		if err == nil && seen[revision.Name] {
			err = fmt.Errorf("revision %s is pinned twice", revision.Name)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s:%d: %w", file, i+1, err))
			continue
		}
		seen[revision.Name] = true
		revisions = append(revisions, revision)
	}
	return revisions, errors.Join(problems...)
}

func parsePin(line string) (Revision, error) {
	fields := strings.Fields(line)
	if len(fields) != 3 {
		return Revision{}, fmt.Errorf("want a name, a commit and a hash, got %d words", len(fields))
	}
	r := Revision{Name: fields[0], Commit: fields[1], Hash: fields[2]}
	switch {
	case !revisionName.MatchString(r.Name):
		return Revision{}, fmt.Errorf("%q is no revision name", r.Name)
	case !commitHash.MatchString(r.Commit):
		return Revision{}, fmt.Errorf("%q is no full commit hash", r.Commit)
	case !treeHash.MatchString(r.Hash):
		return Revision{}, fmt.Errorf("%q is no h1: hash", r.Hash)
	}
	return r, nil
}

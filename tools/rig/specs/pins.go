// Package specs provides the official driver specification tests at pinned revisions, from a local folder or from the public
// repository.
package specs

import (
	"fmt"
	"os"
	"strings"
)

// Revision is one pinned state of the specifications repository.
type Revision struct {
	// Name is the project's name for the revision, Commit its full hash, and Hash the "h1:" hash of its test files.
	Name, Commit, Hash string
}

// Base names the revisions whose tests run with one version of upstream.
type Base struct {
	// Upstream is the revision of upstream's own tests, Fork the one that the fork follows.
	Upstream, Fork string
}

// readLines reads the words of a file's lines, except blank ones and those that begin with #.
func readLines(file string) ([][]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the revisions of the specifications: %w", err)
	}
	var lines [][]string
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 0 && !strings.HasPrefix(words[0], "#") {
			lines = append(lines, words)
		}
	}
	return lines, nil
}

// ReadPins reads a file of lines "name commit hash".
func ReadPins(file string) (map[string]Revision, error) {
	lines, err := readLines(file)
	revisions := map[string]Revision{}
	for _, words := range lines {
		if len(words) != 3 {
			return nil, fmt.Errorf("%s: want lines of a name, a commit and its h1: hash, got %q", file, words)
		}
		revisions[words[0]] = Revision{words[0], words[1], words[2]}
	}
	return revisions, err
}

// ReadBase reads a file of the lines "upstream NAME" and "fork NAME". The names are those of the pins.
func ReadBase(file string, pins map[string]Revision) (Base, error) {
	lines, err := readLines(file)
	if err != nil {
		return Base{}, err
	}
	names := map[string]string{}
	for _, words := range lines {
		names[words[0]] = words[len(words)-1]
	}
	base := Base{names["upstream"], names["fork"]}
	if pins[base.Upstream] == (Revision{}) || pins[base.Fork] == (Revision{}) || len(lines) != 2 {
		return Base{}, fmt.Errorf(`%s: want the lines "upstream NAME" and "fork NAME", with names that etc/specifications pins`,
			file)
	}
	return base, nil
}

package specs

import (
	"fmt"
	"os"
	"strings"
)

// Base names the revisions whose tests run with one version of upstream.
type Base struct {
	// Upstream is the revision of upstream's own tests.
	Upstream string
	// Fork is the revision that the fork follows.
	Fork string
}

// ReadBase reads a file of the lines "upstream NAME" and "fork NAME", in any order. Blank lines and lines that begin with # are
// ignored. The names are those of the pins.
func ReadBase(file string, pins []Revision) (Base, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return Base{}, fmt.Errorf("read the base's specification revisions: %w", err)
	}
	return parseBase(string(text), file, pins)
}

func parseBase(text, file string, pins []Revision) (Base, error) {
	var base Base
	roles := map[string]*string{"upstream": &base.Upstream, "fork": &base.Fork}
	for i, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) != 2 || roles[fields[0]] == nil {
			return Base{}, fmt.Errorf(`%s:%d: want "upstream NAME" or "fork NAME", got %q`, file, i+1, line)
		}
		if !pinned(pins, fields[1]) {
			return Base{}, fmt.Errorf("%s:%d: etc/specifications pins no revision %s", file, i+1, fields[1])
		}
		*roles[fields[0]] = fields[1]
	}
	for role, name := range roles {
		if *name == "" {
			return Base{}, fmt.Errorf("%s: the line %q is missing", file, role+" NAME")
		}
	}
	return base, nil
}

func pinned(pins []Revision, name string) bool {
	for _, pin := range pins {
		if pin.Name == name {
			return true
		}
	}
	return false
}

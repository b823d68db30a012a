package plan

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
)

// Lock pins everything that a build depends on for one version of upstream.
type Lock struct {
	// Module and Version name the upstream module; Sum is its hash as go.sum has it.
	Module, Version, Sum string
	// Entries holds the fingerprint of upstream's declaration for everything that is touched, by verb and key. The sum pins what is
	// only used.
	Entries map[string]string
}

// ParseLock reads a lock.
func ParseLock(file string, data []byte) (*Lock, error) {
	l := &Lock{Entries: map[string]string{}}
	wrong := func(what string) error {
		return problem.List{{File: file, Message: what, Mend: "restore the file from version control, then make lock"}}
	}
	for line := range strings.Lines(string(data)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 3 && words[0] == "module":
			l.Module, l.Version = words[1], words[2]
		case len(words) == 2 && words[0] == "sum":
			l.Sum = words[1]
		case len(words) == 4 && strings.HasPrefix(words[3], "sha256:"):
			l.Entries[strings.Join(words[:3], " ")] = words[3]
		default:
			return nil, wrong(fmt.Sprintf("the line %q is wrong", strings.TrimSpace(line)))
		}
	}
	if l.Module == "" || l.Sum == "" {
		return nil, wrong("the lock lacks the module or its sum")
	}
	return l, nil
}

// Format returns the lock's text: the base first, then one line per entry in order, so that changes merge line by line.
func (l *Lock) Format() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "module %s %s\nsum %s\n", l.Module, l.Version, l.Sum)
	for _, e := range slices.Sorted(maps.Keys(l.Entries)) {
		fmt.Fprintf(&b, "%s %s\n", e, l.Entries[e])
	}
	return b.Bytes()
}

// touches returns the plan's touches by the names of the entries that they ask for.
func (p *Plan) touches() map[string]Touch {
	now := map[string]Touch{}
	for _, t := range p.Touches {
		now[fmt.Sprintf("%s %s", t.How, t.Key)] = t
	}
	return now
}

// NewLock pins a plan as it is.
func NewLock(p *Plan) (l *Lock, err error) {
	l = &Lock{Module: p.Module.Path, Version: p.Module.Version, Entries: map[string]string{}}
	for name, t := range p.touches() {
		l.Entries[name] = syntax.Fingerprint(t.All...)
	}
	l.Sum, err = p.Module.Sum()
	return l, err
}

// Check compares the plan with the lock's entries, both ways if the plan is known to be complete.
func (l *Lock) Check(plan *Plan, file string, complete bool) problem.List {
	var ps problem.List
	now := plan.touches()
	for name, t := range now {
		said, locked := "not in the lock", l.Entries[name]
		if locked == syntax.Fingerprint(t.All...) {
			continue
		} else if locked != "" {
			said = "upstream's declaration changed since the lock"
		}
		ps.Add(t.File.Path, t.Line, "read upstream's declaration, then make lock", "//fork:%s %s: %s (%s, %s)",
			t.How, t.Key.Name, said, l.Version, syntax.Places(t.All))
	}
	for name := range l.Entries {
		if _, named := now[name]; complete && !named {
			ps.Add(file, 0, "make lock", "%s is locked, but no directive of the overlay names it", name)
		}
	}
	return ps
}

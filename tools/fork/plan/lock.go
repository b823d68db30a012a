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

// entry is what a directive of the overlay asks for in the lock.
type entry struct {
	key  syntax.Key
	how  syntax.Verb
	hash string
	// file and line are the directive's, theirs is upstream's place.
	file   string
	line   int
	theirs string
}

// entries returns what the plan's directives ask for.
func (p *Plan) entries() map[string]entry {
	now := map[string]entry{}
	add := func(e entry, theirs ...*syntax.Decl) {
		e.hash, e.theirs = syntax.Fingerprint(theirs...), syntax.Places(theirs)
		now[fmt.Sprintf("%s %s", e.how, e.key)] = e
	}
	for _, t := range p.Touches {
		add(entry{key: t.Key, how: t.How, file: t.Ours.File.Path, line: t.Ours.Line}, t.Theirs)
	}
	for _, r := range p.Removed {
		add(entry{key: r.Key, how: syntax.Remove, file: r.File.Path, line: r.Line}, r.Theirs...)
	}
	return now
}

// Accept takes over the plan's present fingerprints of the chosen keys, or of all. An entry that no directive names any more is removed
// when it is accepted. Keys that neither a directive nor the lock names are an error.
func (l *Lock) Accept(plan *Plan, keys []syntax.Key, all bool) error {
	now := plan.entries()
	unknown := slices.Clone(keys)
	accepted := func(name string) bool {
		is := func(key syntax.Key) bool { return strings.HasSuffix(name, " "+key.String()) }
		unknown = slices.DeleteFunc(unknown, is)
		return all || slices.ContainsFunc(keys, is)
	}
	maps.DeleteFunc(l.Entries, func(name, _ string) bool { _, still := now[name]; return accepted(name) && !still })
	for name, e := range now {
		if accepted(name) {
			l.Entries[name] = e.hash
		}
	}
	if len(unknown) > 0 {
		return fmt.Errorf("%v: neither touched nor in the lock", unknown)
	}
	return nil
}

// Check compares the plan with the lock's entries, both ways if the plan is known to be complete.
func (l *Lock) Check(plan *Plan, file string, complete bool) problem.List {
	var ps problem.List
	now := plan.entries()
	for name, e := range now {
		accept := fmt.Sprintf("read upstream's declaration, then go run ./tools/cmd/mongofork accept '%s'", e.key)
		switch locked, ok := l.Entries[name]; {
		case !ok:
			ps.Add(e.file, e.line, accept, "//fork:%s %s: not in the lock (%s, %s)", e.how, e.key.Name, l.Version, e.theirs)
		case locked != e.hash:
			ps.Add(e.file, e.line, accept, "//fork:%s %s: upstream's declaration changed since the lock (%s, %s)",
				e.how, e.key.Name, l.Version, e.theirs)
		}
	}
	for name := range l.Entries {
		if _, named := now[name]; complete && !named {
			_, key, _ := strings.Cut(name, " ")
			ps.Add(file, 0, fmt.Sprintf("go run ./tools/cmd/mongofork accept '%s'", key),
				"%s is locked, but no directive of the overlay names it", name)
		}
	}
	return ps
}

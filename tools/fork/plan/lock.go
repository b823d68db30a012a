package plan

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
)

// Lock pins everything that a build depends on for one version of upstream.
type Lock struct {
	// Module and Version name the upstream module.
	Module, Version string
	// Sum and GoModSum are the module's hashes as go.sum has them.
	Sum, GoModSum string
	// Go is the version in the module's go directive: the language that the
	// overlay has to be written in.
	Go string
	// Entries holds the fingerprint of upstream's declaration for everything
	// that is touched. The sum pins what is only used.
	Entries map[Entry]syntax.Fingerprint

	lines map[Entry]int // where the entry was read from, for messages
}

// Entry is what a line of the lock is about.
type Entry struct {
	How syntax.Verb
	Key syntax.Key
}

func (e Entry) String() string { return string(e.How) + " " + e.Key.String() }

func (e Entry) compare(other Entry) int {
	return cmp.Or(cmp.Compare(e.How, other.How), e.Key.Compare(other.Key))
}

var fingerprintForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// head returns where the values of the lines go that are not about a declaration.
func (l *Lock) head() map[string][]*string {
	return map[string][]*string{
		"module": {&l.Module, &l.Version}, "sum": {&l.Sum}, "gomod": {&l.GoModSum}, "go": {&l.Go},
	}
}

// ParseLock reads a lock. Each mistake is reported with its line.
func ParseLock(file string, data []byte) (*Lock, error) {
	l := &Lock{Entries: map[Entry]syntax.Fingerprint{}, lines: map[Entry]int{}}
	var problems problem.List
	for i, line := range strings.Split(string(data), "\n") {
		fields := strings.Fields(line)
		if len(fields) > 0 && !strings.HasPrefix(fields[0], "#") && !l.parseLine(fields, i+1) {
			problems.Add(file, i+1,
				"restore the line from version control, or remove it and run go run ./tools/cmd/mongofork accept --all",
				"the lock line %q is wrong", fields[0])
		}
	}
	if l.Module == "" || l.Sum == "" || l.GoModSum == "" || l.Go == "" {
		problems.Add(file, 0, "restore the file from version control", "the lock lacks one of its lines module, sum, gomod and go")
	}
	return l, problems.OrNil()
}

func (l *Lock) parseLine(fields []string, n int) bool {
	if targets, ok := l.head()[fields[0]]; ok {
		for i, target := range targets {
			if len(fields) != len(targets)+1 || *target != "" {
				return false
			}
			*target = fields[i+1]
		}
		return true
	}
	if len(fields) != 4 || !fingerprintForm.MatchString(fields[3]) {
		return false
	}
	key, err := syntax.ParseKey(fields[1] + " " + fields[2])
	e := Entry{syntax.Verb(fields[0]), key}
	_, twice := l.Entries[e]
	l.Entries[e], l.lines[e] = syntax.Fingerprint(fields[3]), n
	return err == nil && !twice
}

// Format returns the lock's text: the base first, then one line per entry in
// order, so that changes merge line by line.
func (l *Lock) Format() []byte {
	var b bytes.Buffer
	line := func(word string, values ...string) {
		if values[0] != "" {
			fmt.Fprintf(&b, "%s %s\n", word, strings.Join(values, " "))
		}
	}
	line("module", l.Module, l.Version)
	line("sum", l.Sum)
	line("gomod", l.GoModSum)
	line("go", l.Go)
	for _, e := range sortedEntries(l.Entries) {
		fmt.Fprintf(&b, "%s %s\n", e, l.Entries[e])
	}
	return b.Bytes()
}

func sortedEntries[V any](m map[Entry]V) []Entry {
	entries := make([]Entry, 0, len(m))
	for e := range m {
		entries = append(entries, e)
	}
	slices.SortFunc(entries, Entry.compare)
	return entries
}

// Accept takes over the plan's present fingerprints of the chosen keys, or of all. An entry that no directive names any more is removed
// when it is accepted. Keys that neither a directive nor the lock names are an error.
func (l *Lock) Accept(plan *Plan, keys []syntax.Key, all bool) error {
	now := plan.fingerprints()
	unknown := slices.Clone(keys)
	accepted := func(e Entry) bool {
		unknown = slices.DeleteFunc(unknown, func(key syntax.Key) bool { return key == e.Key })
		return all || slices.Contains(keys, e.Key)
	}
	for e := range l.Entries {
		if _, still := now[e]; !still && accepted(e) {
			delete(l.Entries, e)
		}
	}
	for e, hash := range now {
		if accepted(e) {
			l.Entries[e] = hash
		}
	}
	if len(unknown) > 0 {
		return fmt.Errorf("%v: neither touched nor in the lock", unknown)
	}
	return nil
}

// fingerprints returns the entries that the plan's directives ask for.
func (p *Plan) fingerprints() map[Entry]syntax.Fingerprint {
	now := map[Entry]syntax.Fingerprint{}
	for _, t := range p.Touches {
		now[Entry{t.How, t.Key}] = t.Hash
	}
	for _, r := range p.Removed {
		now[Entry{syntax.Remove, r.Key}] = r.Hash
	}
	return now
}

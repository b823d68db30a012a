package plan

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

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
	// Output is the "h1:" hash of the built tree; empty until a build passed.
	Output string
	// Entries holds the fingerprint of upstream's declaration for everything
	// that is touched or watched.
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

// ParseLock reads a lock. Each mistake is reported with its line.
func ParseLock(file string, data []byte) (*Lock, error) {
	l := &Lock{Entries: map[Entry]syntax.Fingerprint{}, lines: map[Entry]int{}}
	var problems problem.List
	scan := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; scan.Scan(); n++ {
		fields := strings.Fields(scan.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if err := l.parseLine(fields, n); err != nil {
			problems.Add(file, n, "restore the line from version control, or remove it and run go run ./tools/cmd/mongofork accept --all", "%v", err)
		}
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if l.Module == "" || l.Sum == "" || l.GoModSum == "" || l.Go == "" {
		problems.Add(file, 0, "restore the file from version control", "the lock lacks one of its lines module, sum, gomod and go")
	}
	return l, problems.OrNil()
}

func (l *Lock) parseLine(fields []string, n int) error {
	word, args := fields[0], fields[1:]
	set := func(targets ...*string) error {
		if len(args) != len(targets) {
			return fmt.Errorf("lock line %q has %d values, want %d", word, len(args), len(targets))
		}
		for i, t := range targets {
			if *t != "" {
				return fmt.Errorf("lock line %q appears twice", word)
			}
			*t = args[i]
		}
		return nil
	}
	switch word {
	case "module":
		if err := set(&l.Module, &l.Version); err != nil {
			return err
		}
		if !semver.IsValid(l.Version) {
			return fmt.Errorf("lock line %q: %q is not a version", word, l.Version)
		}
		return nil
	case "sum":
		return set(&l.Sum)
	case "gomod":
		return set(&l.GoModSum)
	case "go":
		return set(&l.Go)
	case "output":
		return set(&l.Output)
	case string(syntax.Replace), string(syntax.Wrap), string(syntax.Extend), string(syntax.Remove), string(syntax.Watch):
		return l.parseEntry(syntax.Verb(word), args, n)
	}
	return fmt.Errorf("unknown lock line %q", word)
}

func (l *Lock) parseEntry(how syntax.Verb, args []string, n int) error {
	if len(args) != 3 || !fingerprintForm.MatchString(args[2]) {
		return fmt.Errorf("lock line %q: want a folder, a name and sha256:<64 hexadecimal digits>", how)
	}
	key, err := syntax.ParseKey(args[0] + " " + args[1])
	if err != nil {
		return err
	}
	e := Entry{how, key}
	if _, twice := l.Entries[e]; twice {
		return fmt.Errorf("%s is locked twice", e)
	}
	l.Entries[e], l.lines[e] = syntax.Fingerprint(args[2]), n
	return nil
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
	line("output", l.Output)
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

package outcomes

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"mongofork/tools/gotest"
)

const header = `# How upstream's tests end in the untouched module. "make baseline" measures it and writes this file.
#
#   group   a package, or a specification of the unified tests: how many cases pass and are skipped, and a hash of their names
#   failed  a case that fails
#   fork    a case that passes in the fork, with how it ends in the untouched module
#   varies  a test whose outcome is not the same each time or everywhere, and the reason; written by hand, or by
#           "make baseline" where runs differed, and kept until it is removed by hand
`

// String returns the record as Parse reads it.
func (r *Record) String() string {
	var b strings.Builder
	b.WriteString(header)
	fmt.Fprintf(&b, "platform %s\n", r.Platform)
	if r.Server != "" {
		fmt.Fprintf(&b, "server %s\n", r.Server)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Groups)) {
		g := r.Groups[name]
		fmt.Fprintf(&b, "group %d %d %s %s\n", g.Passed, g.Skipped, g.Hash, name)
	}
	for _, key := range slices.SortedFunc(maps.Keys(r.Failed), compareKeys) {
		fmt.Fprintf(&b, "failed %s\n", key)
	}
	for _, key := range slices.SortedFunc(maps.Keys(r.Fork), compareKeys) {
		fmt.Fprintf(&b, "fork %s %s\n", r.Fork[key], key)
	}
	for _, key := range slices.SortedFunc(maps.Keys(r.Varies), compareKeys) {
		fmt.Fprintf(&b, "varies %s %s\n", key, r.Varies[key])
	}
	return b.String()
}

// Parse reads a record. All mistakes are reported together, with their lines and the given file name.
func Parse(from io.Reader, file string) (*Record, error) {
	r := &Record{
		Groups: map[string]Group{}, Failed: map[gotest.Key]bool{}, Fork: map[gotest.Key]gotest.Outcome{}, Varies: map[gotest.Key]string{},
	}
	var problems []error
	scanner := bufio.NewScanner(from)
	for number := 1; scanner.Scan(); number++ {
		line := strings.TrimSpace(scanner.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if !r.line(line) {
			problems = append(problems, fmt.Errorf("%s:%d: cannot read %q; correct it, or rewrite the file: make baseline", file, number, line))
		}
	}
	return r, errors.Join(append(problems, scanner.Err())...)
}

// line reads one line, and reports whether it could.
func (r *Record) line(line string) bool {
	what, rest, _ := strings.Cut(line, " ")
	words := strings.Fields(rest)
	switch {
	case what == "platform" && len(words) == 1:
		r.Platform = rest
	case what == "server" && len(words) > 0:
		r.Server = rest
	case what == "group" && len(words) >= 4:
		passed, err := strconv.Atoi(words[0])
		if err != nil {
			return false
		}
		skipped, err := strconv.Atoi(words[1])
		if err != nil {
			return false
		}
		r.Groups[strings.Join(words[3:], " ")] = Group{Passed: passed, Skipped: skipped, Hash: words[2]}
	case what == "failed" && len(words) <= 2 && len(words) > 0:
		r.Failed[keyOf(words)] = true
	case what == "fork" && len(words) == 3:
		outcome := map[string]gotest.Outcome{"failed": gotest.Failed, "skipped": gotest.Skipped}[words[0]]
		if outcome == gotest.Missing {
			return false
		}
		r.Fork[keyOf(words[1:])] = outcome
	case what == "varies" && len(words) >= 3:
		r.Varies[keyOf(words[:2])] = strings.Join(words[2:], " ")
	default:
		return false
	}
	return true
}

func keyOf(words []string) gotest.Key {
	if len(words) == 1 {
		return gotest.Key{Package: words[0]}
	}
	return gotest.Key{Package: words[0], Test: words[1]}
}

package difference

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Skip is a test of upstream's that may fail in the fork, because it asserts behavior that the specification has changed.
type Skip struct {
	// Suite is the suite that runs the test: "upstream", "spec" or "integration".
	Suite string
	// Package is the folder of the package within the module.
	Package string
	// Test is the exact, full name of the test.
	Test string
	// Reason says what the specification demands instead.
	Reason string
	// Successor is "folder TestName": the test of ours that asserts it.
	Successor string
	// Line is the line on which the entry begins.
	Line int
}

// String names the entry.
func (s Skip) String() string { return s.Package + " " + s.Test }

// skipFields are the fields of an entry, each required once.
var skipFields = []string{"suite", "package", "test", "reason", "successor"}

// ParseSkips reads a skip list. An entry is a block of lines "field value"; blank lines separate entries. An indented line
// continues the value before it; a line that begins with # is a comment. All mistakes are reported together, with their lines and
// the given file name.
func ParseSkips(r io.Reader, file string) ([]Skip, error) {
	p := skipParser{file: file, seen: map[string]int{}}
	scanner := bufio.NewScanner(r)
	for number := 1; scanner.Scan(); number++ {
		p.line(scanner.Text(), number)
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	p.finish()
	return p.skips, errors.Join(p.problems...)
}

// skipParser holds the entry being read and what was read before it.
type skipParser struct {
	file     string
	skips    []Skip
	problems []error
	seen     map[string]int
	fields   map[string]string
	last     string
	start    int
}

func (p *skipParser) problem(line int, format string, args ...any) {
	p.problems = append(p.problems, fmt.Errorf("%s:%d: "+format, append([]any{p.file, line}, args...)...))
}

func (p *skipParser) line(text string, number int) {
	trimmed := strings.TrimSpace(text)
	switch {
	case trimmed == "":
		p.finish()
	case strings.HasPrefix(text, "#"):
	case text[0] == ' ' || text[0] == '\t':
		if p.last == "" {
			p.problem(number, "an indented line continues a field, but there is none before it")
			return
		}
		p.fields[p.last] += " " + trimmed
	default:
		p.field(trimmed, number)
	}
}

func (p *skipParser) field(text string, number int) {
	name, value, _ := strings.Cut(text, " ")
	if !slices.Contains(skipFields, name) {
		p.problem(number, "unknown field %q; an entry has %s", name, strings.Join(skipFields, ", "))
		return
	}
	if p.fields == nil {
		p.fields, p.start = map[string]string{}, number
	}
	if _, ok := p.fields[name]; ok {
		p.problem(number, "a second %q in one entry; separate entries with a blank line", name)
		return
	}
	p.fields[name], p.last = strings.TrimSpace(value), name
}

// finish ends the entry being read, if there is one.
func (p *skipParser) finish() {
	fields, line := p.fields, p.start
	p.fields, p.last = nil, ""
	if fields == nil {
		return
	}
	for _, name := range skipFields {
		if fields[name] == "" {
			p.problem(line, "the entry has no %s", name)
			return
		}
	}
	skip := Skip{
		Suite: fields["suite"], Package: fields["package"], Test: fields["test"],
		Reason: fields["reason"], Successor: fields["successor"], Line: line,
	}
	if !slices.Contains([]string{"upstream", "spec", "integration"}, skip.Suite) {
		p.problem(line, "unknown suite %q; it is upstream, spec or integration", skip.Suite)
		return
	}
	id := skip.Suite + " " + skip.String()
	if first, ok := p.seen[id]; ok {
		p.problem(line, "%s is on line %d already", skip, first)
		return
	}
	p.seen[id] = line
	p.skips = append(p.skips, skip)
}

// Package problem reports what stops the builder: where, what, and the cure.
package problem

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Problem is one failed assertion about the overlay, the lock or the output.
type Problem struct {
	File    string // relative to the repository's root, with slashes
	Line    int    // 1-based; 0 means the file as a whole
	Message string // says what failed and what stands there now
	Mend    string // the command, or the edit, that cures it
}

// String returns the problem as one line "file:line: message", followed by an indented line with the cure if there is one.
func (p Problem) String() string {
	text := p.File
	if p.Line > 0 {
		text += fmt.Sprintf(":%d", p.Line)
	}
	text += ": " + p.Message
	if p.Mend != "" {
		text += "\n  fix: " + p.Mend
	}
	return text
}

// List is every assertion that failed, as one error. Nothing has been written when an operation returns it.
type List []Problem

// Error lists the problems by file and line, each once.
func (ps List) Error() string {
	sorted := slices.SortedFunc(slices.Values(ps), func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.String(), b.String()))
	})
	var lines []string
	for _, p := range slices.Compact(sorted) {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

// Join returns all problems of some errors as one List, or the first error that is none. It is nil if there are none.
func Join(errs ...error) error {
	var all List
	for _, err := range errs {
		var some List
		if err != nil && !errors.As(err, &some) {
			return err
		}
		all = append(all, some...)
	}
	if len(all) == 0 { // an empty List would not compare equal to nil
		return nil
	}
	return all
}

// One is a List of one problem with a file.
func One(file, mend, format string, args ...any) (ps List) {
	ps.Add(file, 0, mend, format, args...)
	return ps
}

func (ps *List) Add(file string, line int, mend, format string, args ...any) {
	*ps = append(*ps, Problem{File: file, Line: line, Mend: mend, Message: fmt.Sprintf(format, args...)})
}

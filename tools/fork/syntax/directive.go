package syntax

import (
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/mod/semver"
)

// Verb is the kind of a directive.
type Verb string

// The verbs of the directives that an overlay may carry.
const (
	Replace Verb = "replace" // our declaration stands in for upstream's
	Wrap    Verb = "wrap"    // as replace, and upstream's stays callable under another name
	Extend  Verb = "extend"  // our struct's fields, or our literal's elements, are added to upstream's
	Remove  Verb = "remove"  // a declaration of upstream's that nothing uses any more goes
	Base    Verb = "base"    // the versions of upstream that a file is for
)

const directivePrefix = "//fork:"

// lookalike finds comments that were probably meant as directives but that
// gofmt and this builder take for prose.
var lookalike = regexp.MustCompile(`^//\s+fork:(replace|wrap|extend|remove|base)\b|^//(?i:fork)\s*:|^/\*\s*fork:`)

// Directive is one "//fork:verb ..." comment line.
type Directive struct {
	Verb Verb
	// Reason says why the declaration is touched (replace, wrap, extend, remove).
	Reason string
	// Target is the declaration that goes (remove).
	Target string
	// Range holds the versions that the file is for (base).
	Range BaseRange
}

// ParseDirective reads one comment line. ok is false if the line is not a
// directive; err says what is wrong with one.
func ParseDirective(line string) (d Directive, ok bool, err error) {
	line = strings.TrimRight(line, " \t\r\n")
	rest, ok := strings.CutPrefix(line, directivePrefix)
	if !ok {
		if strings.Contains(strings.ToLower(line), "fork") && lookalike.MatchString(line) {
			return Directive{}, true, fmt.Errorf("%q is not a directive: write //fork: in lower case without any space", line)
		}
		return Directive{}, false, nil
	}
	word, args, _ := strings.Cut(strings.ReplaceAll(rest, "\t", " "), " ")
	fields := strings.Fields(args)
	d.Verb = Verb(word)
	switch d.Verb {
	case Replace, Wrap, Extend:
		if d.Reason = strings.Join(fields, " "); d.Reason == "" {
			err = fmt.Errorf("//fork:%s needs a reason after it", word)
		}
	case Remove:
		if len(fields) < 2 || !isDeclName(fields[0]) {
			err = fmt.Errorf("//fork:remove needs Name or Receiver.Method of one declaration and a reason after it")
			break
		}
		d.Target, d.Reason = fields[0], strings.Join(fields[1:], " ")
	case Base:
		d.Range, err = ParseBaseRange(fields)
	default:
		err = fmt.Errorf("unknown directive //fork:%s (known: replace, wrap, extend, remove, base)", word)
	}
	return d, true, err
}

// BaseRange is a conjunction of comparisons with a version. Without any term
// it holds every version.
type BaseRange []baseTerm

type baseTerm struct{ op, version string }

// ParseBaseRange reads terms such as ">=v2.6.0" and "<v2.9.0".
func ParseBaseRange(terms []string) (BaseRange, error) {
	if len(terms) == 0 {
		return nil, fmt.Errorf("//fork:base needs at least one term, such as >=v2.6.0")
	}
	var r BaseRange
	for _, term := range terms {
		version := strings.TrimLeft(term, "<>=")
		op := term[:len(term)-len(version)]
		switch op {
		case "=", "<", "<=", ">", ">=":
		default:
			return nil, fmt.Errorf("//fork:base term %q: want one of = < <= > >= before a version", term)
		}
		if !semver.IsValid(version) {
			return nil, fmt.Errorf("//fork:base term %q: %q is not a version such as v2.6.0", term, version)
		}
		r = append(r, baseTerm{op, version})
	}
	return r, nil
}

// Holds reports whether version satisfies all terms.
func (r BaseRange) Holds(version string) bool {
	for _, t := range r {
		c := semver.Compare(version, t.version)
		holds := map[string]bool{"=": c == 0, "<": c < 0, "<=": c <= 0, ">": c > 0, ">=": c >= 0}[t.op]
		if !holds {
			return false
		}
	}
	return true
}

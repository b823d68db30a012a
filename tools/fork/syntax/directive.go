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
	Edit    Verb = "edit"    // a place in upstream's function changes: no directive, but an entry of a layer's edits.yaml
)

// like finds directives, and comments that were probably meant to be some but are prose to gofmt.
var like = regexp.MustCompile(`^(?i:(?://|/\*)\s*fork:)(\S*)(.*)`)

// ParseDirective reads one comment, and returns the verb of a "//fork:verb ..." line and the words after it: of base the terms, of remove
// the declaration and a reason, else a reason. ok is false if it is not a directive; err says what is wrong with one.
func ParseDirective(line string) (verb Verb, words []string, ok bool, err error) {
	found := like.FindStringSubmatch(strings.TrimSpace(line))
	if found == nil {
		return "", nil, false, nil
	}
	verb, words = Verb(found[1]), strings.Fields(found[2])
	switch {
	case !strings.HasPrefix(line, "//fork:"):
		err = fmt.Errorf("%q is not a directive: write //fork: in lower case without any space", line)
	case verb == Base:
		_, err = ParseBaseRange(words)
	case verb == Remove && len(words) < 2:
		err = fmt.Errorf("//fork:remove needs Name or Receiver.Method of one declaration and a reason after it")
	case verb != Remove && verb != Replace && verb != Wrap && verb != Extend:
		err = fmt.Errorf("unknown directive //fork:%s (known: replace, wrap, extend, remove, base)", verb)
	case len(words) == 0:
		err = fmt.Errorf("//fork:%s needs a reason after it", verb)
	}
	return verb, words, true, err
}

// BaseRange is a conjunction of comparisons with a version, such as ">=v2.6.0" and "<v2.9.0". Without any it holds every version.
type BaseRange []string

// ParseBaseRange takes at least one such comparison.
func ParseBaseRange(terms []string) (BaseRange, error) {
	for _, term := range terms {
		version := strings.TrimLeft(term, "<>=")
		if op := strings.TrimSuffix(term, version); op != "<" && op != ">=" || !semver.IsValid(version) {
			return nil, fmt.Errorf("base term %q: want < or >= before a version such as v2.6.0", term)
		}
	}
	if len(terms) == 0 {
		return nil, fmt.Errorf("a base needs at least one term, such as >=v2.6.0")
	}
	return terms, nil
}

func (r *BaseRange) UnmarshalText(text []byte) (err error) {
	*r, err = ParseBaseRange(strings.Fields(string(text)))
	return err
}

func (r BaseRange) Holds(version string) bool {
	for _, term := range r {
		if (semver.Compare(version, strings.TrimLeft(term, "<>=")) < 0) != strings.HasPrefix(term, "<") {
			return false
		}
	}
	return true
}

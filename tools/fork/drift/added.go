package drift

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"mongofork/tools/fork/upstream"
)

// additions lists what a later version of a module has for the first time, or requires otherwise: names that applications can use, words
// that stand in its strings, such as error labels, commands and options, and what its go.mod says.
func additions(from, to *upstream.Module) (added []string) {
	for _, d := range declarations(to) {
		if len(from.Lookup(d.Key)) == 0 && d.Key.Public() {
			added = append(added, fmt.Sprintf("%s (%s)", d.Key, d.At()))
		}
	}
	had := words(from)
	for word, at := range words(to) {
		if had[word] == "" {
			added = append(added, fmt.Sprintf("%q (%s)", word, at))
		}
	}
	was, now := requirements(from), requirements(to)
	for name := range was {
		now[name] += "" // what it no longer requires
	}
	for name, version := range now {
		if version != was[name] {
			added = append(added, fmt.Sprintf("%s %s (was %s)", name, cmp.Or(version, "none"), cmp.Or(was[name], "none")))
		}
	}
	slices.Sort(added)
	return added
}

var word = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]+$`)

// words returns the words that stand as strings in a module outside of tests, and where each is first.
func words(m *upstream.Module) map[string]string {
	found := map[string]string{}
	for _, d := range declarations(m) {
		for n := range ast.Preorder(d.Node()) {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				continue
			}
			if text := strings.Trim(literal.Value, "\"`"); word.MatchString(text) && found[text] == "" {
				found[text] = fmt.Sprintf("%s:%d", d.File.Path, d.File.Line(literal.Pos()))
			}
		}
	}
	return found
}

// requirements returns what a module's go.mod says: the line of Go, and the version of each dependency.
func requirements(m *upstream.Module) map[string]string {
	said := map[string]string{}
	file, err := modfile.ParseLax("go.mod", m.Tree["go.mod"], nil)
	if err != nil { // whoever downloads it is told
		return said
	}
	if file.Go != nil {
		said["go.mod: go"] = file.Go.Version
	}
	for _, r := range file.Require {
		said["go.mod: "+r.Mod.Path] = r.Mod.Version
	}
	return said
}

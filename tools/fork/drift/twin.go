package drift

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
)

// A declaration is the twin of one that is gone if they share this part of their words; or less, if they also share the name.
const (
	alike     = 0.8
	namesakes = 0.4
	// Fewer words than this say nothing without the name.
	telling = 12
)

// findTwins looks for where the declarations that are gone may have moved: among those that the other version has and this one has not.
func (d *drifter) findTwins() error {
	if len(d.gone) == 0 {
		return nil
	}
	fresh, err := newDecls(d.plan.Module, d.target)
	if err != nil {
		return err
	}
	for i := range d.report.Rows {
		was := d.gone[i]
		if len(was) == 0 {
			continue
		}
		if twin := twinOf(was[0], fresh); twin != nil {
			row := &d.report.Rows[i]
			row.Class, row.Now, row.From, row.To = Moved, twin.At(), was[0].Key.Package, twin.Key.Package
			if syntax.FingerprintOf(was...) != syntax.FingerprintOf(twin) {
				row.Diff = difference(row.Was, was, row.Now, []*syntax.Decl{twin})
			}
		}
	}
	return nil
}

// candidate is a declaration that may be a twin.
type candidate struct {
	*syntax.Decl
	words map[string]int
	count int
}

// newDecls returns the declarations of a module under keys that another has not.
func newDecls(old, module *upstream.Module) ([]candidate, error) {
	var fresh []candidate
	folders := map[string]bool{}
	for _, name := range module.Tree.Paths() {
		folder := path.Dir(name)
		if folders[folder] || !syntax.IsGoFile(name) {
			continue
		}
		folders[folder] = true
		p, err := module.Package(folder)
		if err != nil {
			return nil, err
		}
		for _, key := range p.Keys() {
			had, err := old.Lookup(key)
			if err != nil {
				return nil, err
			}
			if len(had) == 0 {
				fresh = append(fresh, newCandidate(p.Lookup(key)[0]))
			}
		}
	}
	return fresh, nil
}

func newCandidate(d *syntax.Decl) candidate {
	c := candidate{Decl: d, words: map[string]int{}}
	for _, word := range strings.FieldsFunc(string(syntax.Text(d)), func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) &&
			!unicode.IsDigit(r)
	}) {
		c.words[word]++
		c.count++
	}
	return c
}

// twinOf returns the declaration that is most like one that is gone, if it is like enough: of the same sort, and where several are
// equally like it, that whose folder has the most in common.
func twinOf(gone *syntax.Decl, fresh []candidate) *syntax.Decl {
	was := newCandidate(gone)
	var best *syntax.Decl
	var most float64
	for _, c := range fresh {
		named := c.Bare() == was.Bare()
		if (c.Func == nil) != (was.Func == nil) || c.Func == nil && c.Kind != was.Kind || !named &&
			min(c.count, was.count) < telling {
			continue
		}
		same := 0
		for word, n := range was.words {
			same += min(n, c.words[word])
		}
		part := 2 * float64(same) / float64(c.count+was.count)
		if part < alike && !(named && part >= namesakes) {
			continue
		}
		if named {
			part++
		}
		if best == nil || part > most || part == most && inCommon(c.Key.Package, gone.Key.Package) > inCommon(best.Key.Package,
			gone.Key.Package) {
			best, most = c.Decl, part
		}
	}
	return best
}

// inCommon counts the last elements that two folders share.
func inCommon(a, b string) int {
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	slices.Reverse(as)
	slices.Reverse(bs)
	n := 0
	for n < min(len(as), len(bs)) && as[n] == bs[n] {
		n++
	}
	return n
}

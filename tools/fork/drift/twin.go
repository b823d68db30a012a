package drift

import (
	"path"
	"slices"
	"strings"

	"mongofork/tools/fork/syntax"
)

// gone is a declaration that the other version does not have in its place.
type gone struct {
	key syntax.Key
	was []*syntax.Decl
}

// findTwins looks for where the declarations that are gone have moved: to another package, which had none of the name. Of several it is
// the one whose folder has the most in common.
func (d *drifter) findTwins() error {
	var folders []string
	for name := range d.target.Tree {
		if syntax.IsGoFile(name) && !slices.Contains(folders, path.Dir(name)) {
			folders = append(folders, path.Dir(name))
		}
	}
	slices.Sort(folders)
	for i, gone := range d.gone {
		row := &d.report.Rows[i]
		for _, folder := range folders {
			key := syntax.Key{Package: folder, Name: gone.key.Name}
			had, err := d.plan.Module.Lookup(key)
			if err != nil {
				return err
			}
			now := d.lookup(key)
			if len(had) > 0 || len(now) == 0 ||
				row.To != "" && inCommon(folder, gone.key.Package) <= inCommon(row.To, gone.key.Package) {
				continue
			}
			row.Class, row.Now, row.From, row.To = Moved, syntax.Places(now), gone.key.Package, folder
			if row.Diff = ""; syntax.FingerprintOf(gone.was...) != syntax.FingerprintOf(now...) {
				row.Diff = difference(row.Was, gone.was, row.Now, now)
			}
		}
	}
	return d.err
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

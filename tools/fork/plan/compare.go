package plan

import (
	"fmt"
	"strings"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/syntax"
)

// CompareDecl shows upstream's declaration of a key beside ours. A watched
// or removed declaration has no counterpart; it is shown alone.
func (p *Plan) CompareDecl(key syntax.Key) (string, error) {
	for _, t := range p.Touches {
		if t.Key == key {
			return filetree.Diff("upstream/"+t.Theirs.At(), syntax.Text(t.Theirs), "overlay/"+t.Ours.At(), syntax.Text(t.Ours.Decl)), nil
		}
	}
	for _, w := range p.Watched {
		if w.Key == key {
			return located(w.Theirs), nil
		}
	}
	for _, r := range p.Removed {
		if r.Key == key {
			return located(r.Theirs), nil
		}
	}
	return "", fmt.Errorf("%s is neither touched nor watched (the lock lists what is)", key)
}

// located returns declarations, each below a comment that says where it stands.
func located(decls []*syntax.Decl) string {
	var b strings.Builder
	for _, d := range decls {
		fmt.Fprintf(&b, "// %s\n%s", d.At(), syntax.Text(d))
	}
	return b.String()
}

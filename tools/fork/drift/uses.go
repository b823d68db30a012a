package drift

import (
	"strings"

	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/syntax"
)

// usesOf returns what a plan's fork uses of upstream's and does not touch: first, the nearest first, what the overlay's declarations and
// those of upstream's that are wrapped or extended use, also through others.
func usesOf(p *plan.Plan, fork *program) (found []Row) {
	overlay := map[string]bool{}                                     // files
	ours, kept := map[syntax.Key]bool{}, map[syntax.Key]syntax.Key{} // what takes the place of upstream's; upstream's that stays, with its key there
	for _, f := range p.Overlay.Files {
		overlay[f.Path] = true
	}
	for _, t := range p.Touches {
		ours[t.Key] = t.How == syntax.Replace || t.How == syntax.Wrap
		switch t.How {
		case syntax.Extend:
			kept[t.Key] = t.Key
		case syntax.Wrap:
			kept[plan.WrappedKey(t)] = t.Key
		}
	}
	ways := map[*syntax.Decl]string{} // from a declaration of the fork
	var next []*syntax.Decl
	for _, d := range fork.decls {
		if _, stays := kept[d.Key]; stays || ours[d.Key] || overlay[d.File.Path] {
			next, ways[d] = append(next, d), ""
		}
	}
	for ; len(next) > 0; next = next[1:] {
		user, way := next[0].Key, ways[next[0]]
		if theirs, stays := kept[user]; stays {
			user = theirs
		}
		switch {
		case strings.Contains(way, ", "):
			way += ", "
		case way != "":
			way += ", through "
		}
		for _, used := range fork.uses[next[0]] {
			if _, known := ways[used]; !known {
				ways[used] = way + user.String()
				found, next = append(found, Row{Subject: used.Key, How: Used, Ours: ways[used]}), append(next, used)
			}
		}
	}
	return found
}

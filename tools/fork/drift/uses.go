package drift

import (
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/syntax"
)

// usesOf returns what a plan's fork uses of upstream's and does not touch: first, the nearest first, what the overlay's declarations and
// those of upstream's that are wrapped or extended use, also through others.
func usesOf(p *plan.Plan, fork *program) (found []Row) {
	overlay := map[string]bool{} // files
	for _, f := range p.Overlay.Files {
		overlay[f.Path] = true
	}
	touched := map[syntax.Key]syntax.Key{} // by the key in the fork
	for _, t := range p.Touches {
		touched[t.Key] = t.Key
		if t.How == syntax.Wrap {
			touched[plan.WrappedKey(t)] = t.Key
		}
	}
	ways := map[*syntax.Decl]string{} // to a declaration of the fork and past it
	var next []*syntax.Decl
	for _, d := range fork.decls {
		theirs, touches := touched[d.Key]
		if !touches {
			theirs = d.Key
		}
		if touches || overlay[d.File.Path] {
			next, ways[d] = append(next, d), theirs.String()
		}
	}
	for ; len(next) > 0; next = next[1:] {
		for _, used := range fork.uses[next[0]] {
			if ways[used] == "" {
				found = append(found, Row{Subject: used.Key, How: Used, Ours: ways[next[0]]})
				next, ways[used] = append(next, used), ways[next[0]]+", through "+used.Key.String()
			}
		}
	}
	return found
}

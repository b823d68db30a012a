package uses

import (
	"slices"

	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/syntax"
)

// Use is a declaration of upstream's that a fork depends on and does not touch.
type Use struct {
	Key syntax.Key
	// Calls is whether it calls what the overlay replaces or wraps. Otherwise the overlay, or what it keeps of upstream's, uses it.
	Calls bool
	// Way leads from a declaration of the fork to this one, without this one; or it has only what is called.
	Way []syntax.Key
}

// Of returns what a plan's fork uses of upstream's: first, the nearest first, what the overlay's declarations and those of upstream's
// that are wrapped or extended use, also through others; and then what calls the overlay's.
func Of(p *plan.Plan, fork *Program) ([]Use, error) {
	g, err := fork.graph()
	if err != nil {
		return nil, err
	}
	o := owners(p)
	ways := map[*syntax.Decl][]syntax.Key{}
	var next []*syntax.Decl
	for _, d := range g.decls {
		if _, kept := o.kept[d.Key]; kept || o.ours[d.Key] || o.files[d.File.Path] {
			next, ways[d] = append(next, d), nil
		}
	}
	var found []Use
	for ; len(next) > 0; next = next[1:] {
		for _, used := range g.uses[next[0]] {
			if _, known := ways[used]; !known {
				ways[used] = append(slices.Clone(ways[next[0]]), o.name(next[0].Key))
				found, next = append(found, Use{Key: used.Key, Way: ways[used]}), append(next, used)
			}
		}
	}
	for _, d := range g.decls {
		_, known := ways[d]
		called := slices.IndexFunc(g.uses[d], func(used *syntax.Decl) bool { return used.Func != nil && o.ours[used.Key] })
		if !known && !d.Unnamed() && called >= 0 {
			found = append(found, Use{Key: d.Key, Calls: true, Way: []syntax.Key{g.uses[d][called].Key}})
		}
	}
	return found, nil
}

// owner tells whose a declaration of a fork is.
type owner struct {
	files map[string]bool           // files of the overlay
	ours  map[syntax.Key]bool       // what replaces or wraps a declaration of upstream's
	kept  map[syntax.Key]syntax.Key // what is wrapped or extended, and its key in upstream's module
}

func owners(p *plan.Plan) owner {
	o := owner{files: map[string]bool{}, ours: map[syntax.Key]bool{}, kept: map[syntax.Key]syntax.Key{}}
	for _, f := range p.Overlay.Files {
		o.files[f.Path] = true
	}
	for _, t := range p.Touches {
		switch t.How {
		case syntax.Extend:
			o.kept[t.Key] = t.Key
		case syntax.Wrap:
			o.kept[plan.WrappedKey(t)] = t.Key
			o.ours[t.Key] = true
		default:
			o.ours[t.Key] = true
		}
	}
	return o
}

// name returns the key by which upstream knows what is kept of it.
func (o owner) name(key syntax.Key) syntax.Key {
	if theirs, kept := o.kept[key]; kept {
		return theirs
	}
	return key
}

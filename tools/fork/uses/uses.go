package uses

import (
	"cmp"
	"go/token"
	"maps"
	"slices"

	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/syntax"
)

// Use is a declaration of upstream's that a fork depends on and does not touch.
type Use struct {
	Key syntax.Key
	// Calls is whether it calls what the overlay replaces or wraps. Otherwise the overlay uses it.
	Calls bool
	// Ours is what uses it, or is called.
	Ours syntax.Key
}

// Of returns what a plan's fork uses of upstream's, and what of upstream's calls the fork's, in order and each once.
func Of(p *plan.Plan, fork *Program) ([]Use, error) {
	decls, err := fork.extents()
	if err != nil {
		return nil, err
	}
	o := owners(p)
	found := map[syntax.Key]Use{}
	for id, object := range fork.info.Uses {
		// A package's name, and what the language or the standard library declares, stand in no declaration of the module.
		user, used := decls.find(fork.fset.PositionFor(id.Pos(), false)), decls.find(fork.fset.PositionFor(object.Pos(), false))
		if user == nil || used == nil {
			continue
		}
		var use Use
		switch {
		case o.is(user) && !o.is(used) && !o.kept[used.Key]:
			use = Use{Key: used.Key, Ours: user.Key}
		case o.is(used) && used.Func != nil && !o.is(user) && !o.kept[user.Key] && !user.Unnamed():
			use = Use{Key: user.Key, Calls: true, Ours: used.Key}
		default:
			continue
		}
		was, known := found[use.Key]
		if !known || was.Calls && !use.Calls || was.Calls == use.Calls && use.Ours.Compare(was.Ours) < 0 {
			found[use.Key] = use
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b Use) int { return a.Key.Compare(b.Key) }), nil
}

// extents are the declarations of each file, and where they stand.
type extents map[string][]extent

type extent struct {
	start, end int
	*syntax.Decl
}

func (p *Program) extents() (extents, error) {
	all := extents{}
	for _, folder := range p.folders {
		parsed, err := p.module.Package(folder)
		if err != nil {
			return nil, err
		}
		for _, file := range parsed.Files {
			for _, d := range file.Decls {
				start, end := d.Extent()
				all[file.Path] = append(all[file.Path], extent{start, end, d})
			}
		}
	}
	return all, nil
}

// find returns the declaration at a place.
func (e extents) find(place token.Position) *syntax.Decl {
	in := e[place.Filename]
	i, _ := slices.BinarySearchFunc(in, place.Offset, func(one extent, offset int) int { return cmp.Compare(one.end, offset+1) })
	if i == len(in) || in[i].start > place.Offset {
		return nil
	}
	return in[i].Decl
}

// owner tells whose a declaration of a fork is.
type owner struct {
	files map[string]bool     // files of the overlay
	ours  map[syntax.Key]bool // what replaces or wraps a declaration of upstream's
	kept  map[syntax.Key]bool // what is wrapped or extended, which the lock has
}

func owners(p *plan.Plan) owner {
	o := owner{files: map[string]bool{}, ours: map[syntax.Key]bool{}, kept: map[syntax.Key]bool{}}
	for _, f := range p.Overlay.Files {
		o.files[f.Path] = true
	}
	for _, t := range p.Touches {
		switch t.How {
		case syntax.Extend:
			o.kept[t.Key] = true
		case syntax.Wrap:
			o.kept[plan.WrappedKey(t)] = true
			o.ours[t.Key] = true
		default:
			o.ours[t.Key] = true
		}
	}
	return o
}

func (o owner) is(d *syntax.Decl) bool { return o.ours[d.Key] || o.files[d.File.Path] }

package uses

import (
	"cmp"
	"go/token"
	"go/types"
	"slices"

	"mongofork/tools/fork/syntax"
)

// graph tells which declaration uses which.
type graph struct {
	decls []*syntax.Decl // in the order of their files
	uses  map[*syntax.Decl][]*syntax.Decl
	at    map[string][]extent // by file
}

// extent is a declaration and where in its file it stands.
type extent struct {
	start, end int
	*syntax.Decl
}

// graph finds which declaration uses which.
func (p *Program) graph() (*graph, error) {
	g := &graph{uses: map[*syntax.Decl][]*syntax.Decl{}, at: map[string][]extent{}}
	for _, folder := range p.folders {
		parsed, err := p.module.Package(folder)
		if err != nil {
			return nil, err
		}
		for _, file := range p.files[folder] {
			name := p.fset.Position(file.Package).Filename
			g.add(parsed.Files[slices.IndexFunc(parsed.Files, func(f *syntax.File) bool { return f.Path == name })])
		}
	}
	reached := map[types.Object][]types.Object{} // an interface's method is used in many places
	for id, object := range p.info.Uses {
		// A package's name, and what the language or the standard library declares, stand in no declaration of the module.
		user, used := g.find(p.fset.PositionFor(id.Pos(), false)), g.find(p.fset.PositionFor(object.Pos(), false))
		if user == nil || used == nil {
			continue
		}
		if _, known := reached[object]; !known {
			reached[object] = p.reached(object)
		}
		for _, one := range reached[object] {
			g.use(user, g.find(p.fset.PositionFor(one.Pos(), false)))
		}
	}
	for _, used := range g.uses {
		slices.SortFunc(used, func(a, b *syntax.Decl) int { return cmp.Or(a.Key.Compare(b.Key), cmp.Compare(a.At(), b.At())) })
	}
	return g, nil
}

func (g *graph) use(user, used *syntax.Decl) {
	if used != nil && user != used && !slices.Contains(g.uses[user], used) {
		g.uses[user] = append(g.uses[user], used)
	}
}

func (g *graph) add(file *syntax.File) {
	for _, d := range file.Decls {
		start, end := d.Extent()
		g.decls, g.at[file.Path] = append(g.decls, d), append(g.at[file.Path], extent{start, end, d})
	}
}

// find returns the declaration at a place.
func (g *graph) find(place token.Position) *syntax.Decl {
	for _, e := range g.at[place.Filename] {
		if e.start <= place.Offset && place.Offset < e.end {
			return e.Decl
		}
	}
	return nil
}

package drift

import (
	"context"
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
)

// program is a module that has been type-checked, without its tests. It is compiled for Linux without cgo, so that the result is the same
// on every machine.
type program struct {
	// refused is what a compiler would refuse.
	refused problem.List
	// decls are its declarations, in the order of their files; uses tells which of them uses which.
	decls []*syntax.Decl
	uses  map[*syntax.Decl][]*syntax.Decl

	dir    string
	places map[string][]place // by file
	named  []types.Type       // those that packages declare, but for interfaces
}

// place is where in its file a declaration stands.
type place struct {
	start, end int
	*syntax.Decl
}

const loaded = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedModule | packages.NeedImports |
	packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo

// load type-checks a module. The go command downloads the modules that it requires.
func load(ctx context.Context, m *upstream.Module) (*program, error) {
	dir, err := os.MkdirTemp("", "mongofork-drift-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	sources := maps.Clone(m.Tree)
	maps.DeleteFunc(sources, func(name string, _ []byte) bool { return strings.HasPrefix(name, "testdata/") })
	if err := sources.Write(dir); err != nil {
		return nil, err
	}
	list, err := packages.Load(&packages.Config{Context: ctx, Dir: dir, Mode: loaded, Env: append(os.Environ(),
		"GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=mod")}, "./...")
	if err != nil {
		return nil, err
	}
	p := &program{uses: map[*syntax.Decl][]*syntax.Decl{}, dir: dir, places: map[string][]place{}}
	for _, pkg := range list {
		p.declarations(m, pkg)
	}
	for _, pkg := range list {
		p.references(pkg)
	}
	for _, used := range p.uses {
		slices.SortFunc(used, func(a, b *syntax.Decl) int { return strings.Compare(a.Key.String(), b.Key.String()) })
	}
	return p, nil
}

// declarations records what a package declares, and what is wrong with it.
func (p *program) declarations(m *upstream.Module, pkg *packages.Package) {
	for _, err := range pkg.Errors {
		file, line, _ := strings.Cut(err.Pos, ":")
		at := 0
		_, _ = fmt.Sscanf(line, "%d", &at)
		p.refused.Add(p.relative(file), at, "", "%s", err.Msg)
	}
	for _, file := range pkg.CompiledGoFiles {
		name := p.relative(file)
		files := m.Package(path.Dir(name)).Files
		for _, d := range files[slices.IndexFunc(files, func(f *syntax.File) bool { return f.Path == name })].Decls {
			start, end := d.Extent()
			p.decls, p.places[name] = append(p.decls, d), append(p.places[name], place{start, end, d})
		}
	}
	for _, name := range pkg.Types.Scope().Names() {
		if t, ok := pkg.Types.Scope().Lookup(name).(*types.TypeName); ok && !types.IsInterface(t.Type()) {
			p.named = append(p.named, t.Type())
		}
	}
}

func (p *program) relative(file string) string {
	name, _ := filepath.Rel(p.dir, file)
	return filepath.ToSlash(name)
}

// references records which declarations those of a package use.
func (p *program) references(pkg *packages.Package) {
	reached := map[types.Object][]types.Object{} // an interface's method is used in many places
	for id, object := range pkg.TypesInfo.Uses {
		// What the language and other modules declare stands in no declaration of the module.
		user := p.at(pkg.Fset.PositionFor(id.Pos(), false))
		if user == nil || p.at(pkg.Fset.PositionFor(object.Pos(), false)) == nil {
			continue
		}
		if _, known := reached[object]; !known {
			reached[object] = p.reached(object)
		}
		for _, one := range reached[object] {
			used := p.at(pkg.Fset.PositionFor(one.Pos(), false))
			if used != nil && used != user && !slices.Contains(p.uses[user], used) {
				p.uses[user] = append(p.uses[user], used)
			}
		}
	}
}

// at returns the declaration at a place.
func (p *program) at(where token.Position) *syntax.Decl {
	for _, d := range p.places[p.relative(where.Filename)] {
		if d.start <= where.Offset && where.Offset < d.end {
			return d.Decl
		}
	}
	return nil
}

// reached returns the declarations that a use of an object may reach. A method of an interface reaches the methods of all types of the
// module that implement it.
func (p *program) reached(used types.Object) []types.Object {
	found := []types.Object{used}
	method, ok := used.(*types.Func)
	if !ok || method.Signature().Recv() == nil {
		return found
	}
	face, ok := method.Signature().Recv().Type().Underlying().(*types.Interface)
	if !ok {
		return found
	}
	for _, t := range p.named {
		if pointer := types.NewPointer(t); types.Implements(pointer, face) {
			if object, _, _ := types.LookupFieldOrMethod(pointer, true, method.Pkg(), method.Name()); object != nil {
				found = append(found, object)
			}
		}
	}
	return found
}

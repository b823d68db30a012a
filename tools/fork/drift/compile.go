package drift

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/layer"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
)

const loaded = packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax

// fit lays the overlay's files that are for another version over it, and compiles the result.
func (r *Report) fit(ctx context.Context, target *upstream.Module, overlay plan.Overlay) error {
	p, tree, problems, err := layer.Lay(target, overlay)
	if err != nil || len(problems) > 0 {
		r.Misfits, r.Uncompiled = overlay.At(problems), true
		return err
	}
	r.Misfits, err = Compile(ctx, p, tree)
	return err
}

// Compile type-checks a fork without its tests, for Linux without cgo, so that the result is the same on every machine. The go command
// downloads the modules that it requires. A mistake in a declaration of the overlay is told where that stands in the repository.
func Compile(ctx context.Context, p *plan.Plan, tree filetree.Tree) (mistakes problem.List, err error) {
	dir, err := os.MkdirTemp("", "mongofork-compile-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := tree.Write(dir); err != nil {
		return nil, err
	}
	list, err := packages.Load(&packages.Config{Context: ctx, Dir: dir, Mode: loaded, Env: append(os.Environ(),
		"GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=mod")}, "./...")
	for _, pkg := range list {
		for _, mistake := range pkg.Errors {
			at := strings.TrimPrefix(filepath.ToSlash(mistake.Pos), filepath.ToSlash(dir)+"/")
			name, position, _ := strings.Cut(at, ":")
			lines, _, _ := strings.Cut(position, ":")
			line, _ := strconv.Atoi(lines) // 0 if the compiler names none
			name, line = origin(p, tree, name, line)
			mistakes.Add(name, line, "", "%s", mistake.Msg)
		}
	}
	return p.Overlay.At(mistakes), err
}

// origin returns where a line of the fork stands in the overlay; unchanged if it is upstream's, or the builder has renamed its function.
func origin(p *plan.Plan, tree filetree.Tree, name string, line int) (string, int) {
	ours := map[syntax.Key]*syntax.Decl{} // of a declaration that several layers touch, the last one
	for _, d := range p.Added {
		ours[d.Key] = d
	}
	for _, t := range p.Touches {
		if t.How == syntax.Replace || t.How == syntax.Wrap {
			ours[t.Key] = t.Ours
		}
	}
	file, err := syntax.Parse(name, tree[name])
	if err != nil {
		return name, line
	}
	for _, d := range file.Decls {
		from, to := file.Line(d.Pos()), file.Line(d.Node().End())
		if own := ours[d.Key]; own != nil && from <= line && line <= to {
			return own.File.Path, own.File.Line(own.Pos()) + line - from
		}
	}
	return name, line
}

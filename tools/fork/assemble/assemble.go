// Package assemble lays a plan's overlay over its module, in memory: as a build does, with our declarations in our files, or in place, as
// upstream itself would make the change.
package assemble

import (
	"fmt"
	"go/ast"
	"go/format"
	"maps"
	"path"
	"slices"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
)

// fileEdits collects what happens to one upstream file.
type fileEdits struct {
	source  *syntax.File
	cuts    []Edit          // declarations taken out
	edits   []Edit          // everything else
	removed []*syntax.Decl  // declarations that are cut and have no successor
	needed  []syntax.Import // what inserted text imports
	ours    *syntax.Decl    // the last declaration of ours, for messages
}

type assembler struct {
	plan     *plan.Plan
	out      filetree.Tree
	problems problem.List
	theirs   map[string]*fileEdits
	consumed map[*syntax.File][]Edit // declarations of ours that went into upstream's files
}

func newAssembler(p *plan.Plan) *assembler {
	return &assembler{
		plan:     p,
		out:      Pristine(p.Module),
		theirs:   map[string]*fileEdits{},
		consumed: map[*syntax.File][]Edit{},
	}
}

// editsOf returns the edits of the upstream file that a directive is about.
func (as *assembler) editsOf(t plan.Touch) *fileEdits {
	fe := as.editsIn(t.Theirs.File)
	fe.ours = t.Ours.Decl
	return fe
}

// editsIn returns the edits of an upstream file.
func (as *assembler) editsIn(file *syntax.File) *fileEdits {
	fe := as.theirs[file.Path]
	if fe == nil {
		fe = &fileEdits{source: file}
		as.theirs[file.Path] = fe
	}
	return fe
}

// extend adds our fields or elements to upstream's declaration.
func (as *assembler) extend(t plan.Touch) {
	fe := as.editsOf(t)
	fe.edits = append(fe.edits, extension(t.Ours.Decl, t.Theirs))
	start, end := t.Ours.Extent()
	fe.needed = append(fe.needed, syntax.NeededImports(t.Ours.File, start, end)...)
	as.consumed[t.Ours.File] = append(as.consumed[t.Ours.File], Cut(t.Ours.Decl))
}

// rename gives a wrapped function the name under which ours calls it.
func rename(d *syntax.Decl) Edit {
	at := d.File.Offset(d.Func.Name.Pos())
	return Edit{Start: at, End: at + len(d.Func.Name.Name), Text: []byte(plan.UpstreamName(d.Bare()))}
}

// finishAllTheirs writes the touched upstream files.
func (as *assembler) finishAllTheirs() error {
	as.removeTheirs()
	for _, name := range slices.Sorted(maps.Keys(as.theirs)) {
		if err := as.finishTheirs(name, as.theirs[name]); err != nil {
			return err
		}
	}
	return nil
}

// finishTheirs writes one touched upstream file.
func (as *assembler) finishTheirs(name string, fe *fileEdits) error {
	if fe.empty() {
		delete(as.out, name)
		return nil
	}
	return as.put(name, fe.source.Src, slices.Concat(fe.cuts, fe.edits), fe)
}

// put splices a file into the output, with the imports that the edits of one of upstream's need. The result has to parse; if the
// source was formatted, the result is too.
func (as *assembler) put(name string, src []byte, edits []Edit, fe *fileEdits) error {
	text, err := Splice(src, edits)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	formatted, err := format.Source(text)
	if err != nil {
		return fmt.Errorf("%s does not parse after splicing: %w", path.Join(as.plan.Module.Version, name), err)
	}
	if syntax.IsFormatted(src) {
		text = formatted
	}
	if as.out[name], err = WithImports(name, text, fe.needed); err != nil && fe.ours != nil {
		as.problems.Add(fe.ours.File.Path, fe.ours.File.Line(fe.ours.Pos()), "import the package under another name in ours",
			"imports of %s: %v", name, err)
		return nil
	}
	return err
}

// removeTheirs takes out of upstream's files what is removed.
func (as *assembler) removeTheirs() {
	for _, r := range as.plan.Removed {
		for _, d := range r.Theirs {
			fe := as.editsIn(d.File)
			if !slices.Contains(fe.removed, d) {
				fe.removed = append(fe.removed, d)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(as.theirs)) {
		as.theirs[name].cutRemoved()
	}
}

// cutRemoved cuts what is removed; parentheses go with the last of their declarations.
func (fe *fileEdits) cutRemoved() {
	gone := map[*ast.GenDecl]int{}
	for _, d := range fe.removed {
		gone[d.Gen]++
		switch {
		case d.Gen == nil || gone[d.Gen] < len(d.Gen.Specs) || len(d.Gen.Specs) == 1:
			fe.cuts = append(fe.cuts, Cut(d))
		default:
			from := d.Gen.Pos()
			if d.Gen.Doc != nil {
				from = d.Gen.Doc.Pos()
			}
			start, end := d.File.Offset(from), d.File.Offset(d.Gen.End())
			fe.cuts = slices.DeleteFunc(fe.cuts, func(e Edit) bool { return start <= e.Start && e.End <= end+1 })
			fe.cuts = append(fe.cuts, CutLines(d.File.Src, start, end))
		}
	}
}

// empty reports whether nothing is left of a file, so that it goes as a whole.
func (fe *fileEdits) empty() bool {
	return len(fe.removed) > 0 && len(fe.removed) == len(fe.source.Decls) && fe.source.AST.Doc == nil
}

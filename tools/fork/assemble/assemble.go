package assemble

import (
	"fmt"
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

// Build lays the plan's overlay over its module. The error is a problem.List if
// ours and upstream's do not fit together.
func Build(p *plan.Plan) (filetree.Tree, error) {
	as := newAssembler(p)
	for _, t := range p.Touches {
		as.touch(t)
	}
	if err := as.finishAllTheirs(); err != nil {
		return nil, err
	}
	for _, f := range p.Overlay.Files {
		if err := as.finishOurs(f); err != nil {
			return nil, err
		}
	}
	return as.out, as.problems.OrNil()
}

type assembler struct {
	plan     *plan.Plan
	out      filetree.Tree
	names    syntax.Names
	problems problem.List
	theirs   map[string]*fileEdits
	consumed map[*syntax.File][]Edit // declarations of ours that went into upstream's files
	comments map[*syntax.File][]Edit // upstream's comments on what ours wraps
}

func newAssembler(p *plan.Plan) *assembler {
	return &assembler{
		plan:     p,
		out:      Pristine(p.Module),
		names:    plan.PackageNames(p.Module, p.Overlay),
		theirs:   map[string]*fileEdits{},
		consumed: map[*syntax.File][]Edit{},
		comments: map[*syntax.File][]Edit{},
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

// touch turns one directive into edits of upstream's file.
func (as *assembler) touch(t plan.Touch) {
	fe := as.editsOf(t)
	switch t.How {
	case syntax.Replace:
		fe.cuts = append(fe.cuts, Cut(t.Theirs))
	case syntax.Wrap:
		fe.edits = append(fe.edits, rename(t.Theirs))
		if carriesComment(t) {
			fe.edits = append(fe.edits, takeComment(t))
			start, _ := t.Ours.Extent()
			above := Edit{Start: start, End: start, Text: commentAbove(t, t.Ours.File.Src[start:])}
			as.comments[t.Ours.File] = append(as.comments[t.Ours.File], above)
		}
	case syntax.Extend:
		fe.edits = append(fe.edits, extension(t.Ours.Decl, t.Theirs))
		start, end := t.Ours.Extent()
		fe.needed = append(fe.needed, as.names.NeededImports(t.Ours.File, start, end)...)
		as.consumed[t.Ours.File] = append(as.consumed[t.Ours.File], Cut(t.Ours.Decl))
	}
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
	added, err := AddImports(as.names, fe.source, fe.needed)
	if err != nil {
		as.problems.Add(fe.ours.File.Path, fe.ours.File.Line(fe.ours.Pos()), "import the package under another name in ours", "imports of %s: %v", name, err)
		return nil
	}
	edits := slices.Concat(fe.cuts, pruneImports(as.names, fe.source, fe.cuts, fe.needed), added)
	for _, e := range fe.edits {
		if !e.fields {
			edits = append(edits, e)
			continue
		}
		before, after := separators(fe.source.Src, e)
		edits = append(edits, Edit{Start: e.Start, End: e.Start, Text: before}, e, Edit{Start: e.Start, End: e.Start, Text: after})
	}
	return as.put(name, fe.source.Src, edits)
}

// finishOurs writes one overlay file without the declarations that went into
// upstream's, and with upstream's comments on what it wraps. A file without anything left is dropped.
func (as *assembler) finishOurs(f *plan.File) error {
	cuts := as.consumed[f.Source]
	comments := as.comments[f.Source]
	if f.Source == nil || len(cuts)+len(comments) == 0 {
		as.out[f.Path] = f.Data
		return nil
	}
	edits := slices.Concat(cuts, comments, pruneImports(as.names, f.Source, cuts, nil))
	if len(cuts) == len(f.Decls) && as.importsUsed(f) {
		return nil
	}
	return as.put(f.Path, f.Data, edits)
}

// importsUsed reports whether some declaration uses each import of the file, so
// that nothing is imported for its effects.
func (as *assembler) importsUsed(f *plan.File) bool {
	uses := syntax.PackageUses(f.Source)
	for _, ref := range as.names.Imports(f.Source) {
		if len(uses[ref.Name]) == 0 {
			return false
		}
	}
	return true
}

// put splices a file into the output. The result has to parse; if the source
// was formatted, the result is too.
func (as *assembler) put(name string, src []byte, edits []Edit) error {
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
	as.out[name] = text
	return nil
}

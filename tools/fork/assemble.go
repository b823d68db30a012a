package fork

import (
	"bytes"
	"fmt"
	"go/format"
	"path"
	"slices"
)

// Assembly is the output of a build, in memory.
type Assembly struct {
	Tree Tree
	// Segments gives the origin of the overlay text in each file. A file that
	// gofmt had to reformat has none.
	Segments map[string][]Segment
	// Origins maps an output file to the overlay file it was made of whole.
	Origins map[string]string
}

// workFiles are upstream's workspace files. They name modules that are not in
// the module zip, and every go command in the output would fail on them.
var workFiles = []string{"go.work", "go.work.sum"}

// Pristine returns the module as it is, without its workspace files.
func Pristine(m *Module) *Assembly {
	a := &Assembly{Tree: Tree{}, Segments: map[string][]Segment{}, Origins: map[string]string{}}
	for name, data := range m.Tree {
		if !slices.Contains(workFiles, name) {
			a.Tree[name] = data
		}
	}
	return a
}

// fileEdits collects what happens to one upstream file.
type fileEdits struct {
	source  *SourceFile
	cuts    []edit      // declarations taken out
	edits   []edit      // everything else
	removed []*Decl     // declarations that are cut and have no successor
	needed  []importRef // what inserted text imports
	ours    *Decl       // the last declaration of ours, for messages
}

// Assemble lays the plan's overlay over its module. The error is Problems if
// ours and upstream's do not fit together.
func Assemble(p *Plan) (*Assembly, error) {
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
	if err := as.checkRemoved(); err != nil {
		return nil, err
	}
	return as.out, as.problems.orNil()
}

type assembler struct {
	plan     *Plan
	out      *Assembly
	names    packageNamer
	problems Problems
	theirs   map[string]*fileEdits
	consumed map[*SourceFile][]edit // declarations of ours that went into upstream's files
}

func newAssembler(p *Plan) *assembler {
	return &assembler{
		plan:     p,
		out:      Pristine(p.Module),
		names:    packageNamer{p.Module, p.Overlay},
		theirs:   map[string]*fileEdits{},
		consumed: map[*SourceFile][]edit{},
	}
}

// editsOf returns the edits of the upstream file that a directive is about.
func (as *assembler) editsOf(t Touch) *fileEdits {
	fe := as.editsIn(t.Theirs.File)
	fe.ours = t.Ours.Decl
	return fe
}

// editsIn returns the edits of an upstream file.
func (as *assembler) editsIn(file *SourceFile) *fileEdits {
	fe := as.theirs[file.Path]
	if fe == nil {
		fe = &fileEdits{source: file}
		as.theirs[file.Path] = fe
	}
	return fe
}

// touch turns one directive into edits of upstream's file.
func (as *assembler) touch(t Touch) {
	fe := as.editsOf(t)
	switch t.How {
	case Replace:
		fe.cuts = append(fe.cuts, cut(t.Theirs))
	case Wrap:
		fe.edits = append(fe.edits, rename(t.Theirs))
	case Extend:
		fe.edits = append(fe.edits, extension(t.Ours.Decl, t.Theirs))
		start, end := t.Ours.extent()
		fe.needed = append(fe.needed, as.names.neededImports(t.Ours.File, start, end)...)
		as.consumed[t.Ours.File] = append(as.consumed[t.Ours.File], cut(t.Ours.Decl))
	}
}

// rename gives a wrapped function the name under which ours calls it.
func rename(d *Decl) edit {
	at := d.File.offset(d.fn.Name.Pos())
	return edit{start: at, end: at + len(d.fn.Name.Name), text: []byte(UpstreamName(d.bare()))}
}

// finishAllTheirs writes the touched upstream files.
func (as *assembler) finishAllTheirs() error {
	as.removeTheirs()
	for _, name := range sortedKeys(as.theirs) {
		if err := as.finishTheirs(name, as.theirs[name]); err != nil {
			return err
		}
	}
	return nil
}

// finishTheirs writes one touched upstream file.
func (as *assembler) finishTheirs(name string, fe *fileEdits) error {
	if fe.empty() {
		delete(as.out.Tree, name)
		return nil
	}
	added, err := as.names.addImports(fe.source, fe.needed)
	if err != nil {
		as.problems.add(fe.ours.File.Path, fe.ours.File.line(fe.ours.pos()), "import the package under another name in ours", "imports of %s: %v", name, err)
		return nil
	}
	edits := slices.Concat(fe.cuts, as.names.pruneImports(fe.source, fe.cuts, fe.needed), added)
	for _, e := range fe.edits {
		if e.from == "" {
			edits = append(edits, e)
			continue
		}
		before, after := separators(fe.source.Src, e)
		edits = append(edits, edit{start: e.start, end: e.start, text: before}, e, edit{start: e.start, end: e.start, text: after})
	}
	return as.put(name, fe.source.Src, "", edits)
}

// finishOurs writes one overlay file without the declarations that went into
// upstream's. A file without anything left is dropped.
func (as *assembler) finishOurs(f *OverlayFile) error {
	cuts := as.consumed[f.Source]
	if f.Source == nil || len(cuts) == 0 {
		as.out.Tree[f.Path], as.out.Origins[f.Path] = f.Data, f.Path
		as.out.Segments[f.Path] = []Segment{{0, len(f.Data), f.Path, 0}}
		return nil
	}
	edits := slices.Concat(cuts, as.names.pruneImports(f.Source, cuts, nil))
	if len(cuts) == len(f.Decls) && as.importsUsed(f) {
		return nil
	}
	as.out.Origins[f.Path] = f.Path
	return as.put(f.Path, f.Data, f.Path, edits)
}

// importsUsed reports whether some declaration uses each import of the file, so
// that nothing is imported for its effects.
func (as *assembler) importsUsed(f *OverlayFile) bool {
	uses := packageUses(f.Source)
	for _, ref := range as.names.imports(f.Source) {
		if len(uses[ref.name]) == 0 {
			return false
		}
	}
	return true
}

// put splices a file into the output. The result has to parse; if the source
// was formatted, the result is too.
func (as *assembler) put(name string, src []byte, from string, edits []edit) error {
	text, segments, err := splice(src, from, edits)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	formatted, err := format.Source(text)
	if err != nil {
		return fmt.Errorf("%s does not parse after splicing: %w", path.Join(as.plan.Module.origin(), name), err)
	}
	if !bytes.Equal(formatted, text) && isFormatted(src) {
		text, segments = formatted, nil
	}
	as.out.Tree[name], as.out.Segments[name] = text, segments
	return nil
}

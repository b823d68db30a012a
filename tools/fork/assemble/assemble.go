// Package assemble lays a plan's overlay over its module, in memory, as upstream itself would make the change: a replaced declaration
// stands where the old one stood, a wrapper before the one that it wraps, and only what is new stays in our files.
package assemble

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"maps"
	"regexp"
	"slices"

	"golang.org/x/tools/go/ast/astutil"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
)

// Pristine returns the module as it is, without its workspace files: they name modules that are not in the module zip, and every go
// command in the output would fail on them.
func Pristine(m *upstream.Module) filetree.Tree {
	tree := maps.Clone(m.Tree)
	delete(tree, "go.work")
	delete(tree, "go.work.sum")
	return tree
}

// fileEdits collects what happens to a file.
type fileEdits struct {
	source  *syntax.File
	edits   []Edit
	removed map[*syntax.Decl]bool      // declarations that are cut and have no successor
	needed  map[string]*ast.ImportSpec // what inserted text imports, by name
	ours    *syntax.Decl               // the last declaration of ours, for messages
}

type assembler struct {
	out      filetree.Tree
	problems problem.List
	files    map[string]*fileEdits // upstream's and ours, by path
}

// Build lays the plan's overlay over its module. Directives are left out. The error is a problem.List if ours and upstream's do not fit
// together.
func Build(p *plan.Plan) (filetree.Tree, error) {
	as := &assembler{out: Pristine(p.Module), files: map[string]*fileEdits{}}
	for _, f := range p.Overlay.Files() {
		as.out[f.Path] = f.Data
		if f.Source != nil && directives.Match(f.Data) { // else it stays as it is
			as.in(f.Source).edits = directiveCuts(f.Source)
		}
	}
	gone := map[string]bool{} // once it has no declaration left
	for _, t := range p.Touches {
		gone[t.File.Path] = true
		if t.How != syntax.Remove {
			as.moveIn(t)
			continue
		}
		for _, d := range t.All {
			as.in(d.File).remove(d)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(as.files)) {
		fe := as.files[name]
		if err := as.write(name, gone[name] || len(fe.removed) > 0 && fe.source.AST.Doc == nil); err != nil {
			return nil, err
		}
	}
	return as.out, problem.Join(as.problems)
}

func (as *assembler) in(file *syntax.File) *fileEdits {
	fe := as.files[file.Path]
	if fe == nil {
		fe = &fileEdits{source: file, removed: map[*syntax.Decl]bool{}, needed: map[string]*ast.ImportSpec{}}
		as.files[file.Path] = fe
	}
	return fe
}

// without returns a part of a file without what is cut there.
func (fe *fileEdits) without(start, end int) []byte {
	var text []byte
	for _, e := range fe.edits {
		if start <= e.Start && e.End <= end {
			text, start = append(text, fe.source.Src[start:e.Start]...), e.End
		}
	}
	return append(text, fe.source.Src[start:end]...)
}

// moveIn puts our declaration into upstream's file.
func (as *assembler) moveIn(t plan.Touch) {
	from, into := as.in(t.Ours.File), as.in(t.Theirs.File)
	start, end := t.Ours.Extent()
	text := from.without(start, end)
	from.edits = append(from.edits, Cut(from.source.Src, start, end))
	imports := syntax.Imports(from.source)
	for name := range syntax.PackageUses(from.source, start, end) {
		if spec := imports[name]; spec != nil {
			into.needed[name], into.ours = spec, t.Ours
		}
	}
	start, end = t.Theirs.Extent()
	switch {
	case t.How == syntax.Extend:
		if edit, mend, err := extension(t.Ours, t.Theirs); err != nil {
			as.problems.Add(t.File.From, t.Line, mend, "//fork:extend %s: %v (%s)", t.Key.Name, err, t.Theirs.At())
		} else {
			into.edits = append(into.edits, edit)
		}
	case t.How == syntax.Wrap:
		var comment []byte
		until := start
		if doc := t.Theirs.Func.Doc; doc != nil && ast.IsExported(t.Theirs.Bare()) {
			// Users read upstream's comment above ours, which only adds to what it says.
			comment = append(bytes.Clone(t.Theirs.File.Text(doc.Pos(), doc.End())), '\n')
			if until = t.Theirs.File.Offset(t.Theirs.Func.Pos()); bytes.HasPrefix(text, []byte("//")) {
				comment = append(comment, "//\n"...)
			}
		}
		name := t.Theirs.File.Offset(t.Theirs.Func.Name.Pos())
		into.edits = append(into.edits, Edit{Start: start, End: until, Text: slices.Concat(comment, text, []byte("\n\n"))},
			Edit{Start: name, End: name + len(t.Theirs.Bare()), Text: []byte(plan.UpstreamName(t.Theirs.Bare()))})
	case t.Theirs.Grouped(): // ours is a separate declaration and goes below the group
		after := t.Theirs.File.Offset(t.Theirs.Gen.End())
		into.edits = append(into.edits, Cut(into.source.Src, start, end),
			Edit{Start: after, End: after, Text: append([]byte("\n\n"), text...)})
	default:
		into.edits = append(into.edits, Edit{Start: start, End: end, Text: text})
	}
}

// write splices a file into the output, formatted, with the imports that the edits of one of upstream's need. A file without declarations
// goes as a whole if that is asked for.
func (as *assembler) write(name string, goes bool) error {
	fe := as.files[name]
	text, err := Splice(fe.source.Src, fe.edits)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	spliced, err := syntax.Parse(name, text)
	if err != nil {
		return fmt.Errorf("%s does not parse after splicing: %w", name, err)
	}
	if goes && len(spliced.Decls) == 0 {
		delete(as.out, name)
		return nil
	}
	if err := mendImports(spliced, fe.needed); err != nil { // ours needs the import
		as.problems.Add(fe.ours.File.From, fe.ours.File.Line(fe.ours.Pos()), "import the package under another name in ours",
			"imports of %s: %v", name, err)
		return nil
	}
	var printed bytes.Buffer
	err = format.Node(&printed, spliced.Fset, spliced.AST)
	as.out[name] = printed.Bytes()
	return err
}

// remove cuts a declaration; parentheses go with the last of theirs.
func (fe *fileEdits) remove(d *syntax.Decl) {
	start, end := d.Extent()
	fe.edits, fe.removed[d] = append(fe.edits, Cut(d.File.Src, start, end)), true
	stays := func(other *syntax.Decl) bool { return other.Gen == d.Gen && !fe.removed[other] }
	if d.Grouped() && !slices.ContainsFunc(fe.source.Decls, stays) {
		from := d.Gen.Pos()
		if d.Gen.Doc != nil {
			from = d.Gen.Doc.Pos()
		}
		fe.edits = append(fe.edits, Cut(d.File.Src, d.File.Offset(from), d.File.Offset(d.Gen.End())))
	}
}

// Edit replaces the bytes [start, end) of a file by text.
type Edit struct {
	Start, End int
	Text       []byte
}

// Splice applies edits to src. Everything else stays byte for byte: printing a changed syntax tree would move comments.
func Splice(src []byte, edits []Edit) ([]byte, error) {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b Edit) int { return a.Start - b.Start })
	var out bytes.Buffer
	done := 0
	for _, e := range edits {
		if len(e.Text) == 0 { // a cut may lie in another
			e.Start, e.End = max(e.Start, done), max(e.End, done)
		}
		if e.Start < done || e.End < e.Start || e.End > len(src) {
			return nil, fmt.Errorf("edits overlap at byte %d", e.Start)
		}
		out.Write(src[done:e.Start])
		out.Write(e.Text)
		done = e.End
	}
	out.Write(src[done:])
	return out.Bytes(), nil
}

// Cut returns the edit that takes the lines of [start, end) out of a file. Formatting leaves one of the blank lines around them.
func Cut(src []byte, start, end int) Edit {
	return Edit{Start: syntax.LineStart(src, start), End: syntax.LineEnd(src, end)}
}

// directives are the lines of directives, with the empty comment lines that gofmt puts before them.
var directives = regexp.MustCompile(`(?m)^(?://\n)*(?://fork:.*\n?)+`)

// directiveCuts takes the directives out of a file of ours.
func directiveCuts(s *syntax.File) (cuts []Edit) {
	for _, group := range s.AST.Comments { // a string may have such lines, too
		start, end := s.Offset(group.Pos()), syntax.LineEnd(s.Src, s.Offset(group.End()))
		for _, at := range directives.FindAllIndex(s.Src[start:end], -1) {
			cuts = append(cuts, Edit{Start: start + at[0], End: start + at[1]})
		}
	}
	return cuts
}

// mendImports gives the syntax tree of a file the imports that it needs and lacks, by name, and takes out those that nothing in it uses. An
// error says that a name means something else there. Imports named "_", "." or "C" have their own effects.
func mendImports(source *syntax.File, needed map[string]*ast.ImportSpec) error {
	fset, file := source.Fset, source.AST
	have, uses := syntax.Imports(source), syntax.PackageUses(source, 0, len(source.Src))
	for _, as := range slices.Sorted(maps.Keys(needed)) {
		path := syntax.ImportPath(needed[as])
		if there := have[as]; there == nil {
			astutil.AddNamedImport(fset, file, syntax.ImportName(needed[as]), path)
		} else if syntax.ImportPath(there) != path {
			return fmt.Errorf("%s means %q there, but %q in ours", as, syntax.ImportPath(there), path)
		}
	}
	for as, spec := range have {
		if path := syntax.ImportPath(spec); as != "_" && as != "." && path != "C" && !uses[as] {
			astutil.DeleteNamedImport(fset, file, syntax.ImportName(spec), path)
		}
	}
	return nil
}

// extension appends the fields of our struct to upstream's, or the elements of our function's only literal to upstream's only literal of
// that type, with a blank line before them where gofmt would align upstream's anew. If they do not fit, mend says what to do.
func extension(ours, theirs *syntax.Decl) (edit Edit, mend string, err error) {
	if ours.Func == nil || theirs.Func == nil {
		our, their := ours.StructType(), theirs.StructType()
		if our == nil || their == nil {
			return edit, "extend structs and functions only", errors.New("both declarations have to define a struct")
		}
		closing := theirs.File.Offset(their.Fields.Closing)
		text := bytes.Trim(ours.File.Text(our.Fields.Opening+1, our.Fields.Closing), "\n")
		return Edit{Start: closing, End: closing, Text: slices.Concat([]byte("\n"), text, []byte("\n"))}, "", nil
	}
	literals := keyedLiterals(ours, nil)
	if len(literals) != 1 || len(literals[0].Elts) == 0 {
		return edit, "leave nothing in ours but one literal with the keys to add",
			fmt.Errorf("ours has %d keyed literals, not one with keys", len(literals))
	}
	our := literals[0]
	name := ours.File.Text(our.Type.Pos(), our.Type.End())
	if literals = keyedLiterals(theirs, name); len(literals) != 1 {
		return edit, "use //fork:wrap or //fork:replace",
			fmt.Errorf("upstream's does not have exactly one keyed literal of type %s", name)
	}
	their, last := literals[0], our.Elts[len(our.Elts)-1].End()
	behind := bytes.TrimPrefix(ours.File.Text(last, our.Rbrace), []byte(","))
	elements := bytes.TrimSpace(slices.Concat(ours.File.Text(our.Lbrace+1, last), []byte(","), behind))
	at := theirs.File.Offset(their.Rbrace)
	start := syntax.LineStart(theirs.File.Src, at)
	if len(bytes.TrimSpace(theirs.File.Src[start:at])) > 0 {
		return edit, "use //fork:wrap or //fork:replace", errors.New("upstream's literal does not end on a line of its own")
	}
	if longestKey(our) > longestKey(their) { // gofmt would align upstream's lines again
		elements = append([]byte("\n"), elements...)
	}
	return Edit{Start: start, End: start, Text: append(elements, '\n')}, "", nil
}

// keyedLiterals lists the composite literals of a function that have a type, this one if it is given, except those without keys.
func keyedLiterals(d *syntax.Decl, name []byte) (all []*ast.CompositeLit) {
	for n := range ast.Preorder(d.Func) {
		lit, ok := n.(*ast.CompositeLit)
		if ok && lit.Type != nil && (name == nil || bytes.Equal(d.File.Text(lit.Type.Pos(), lit.Type.End()), name)) &&
			(len(lit.Elts) == 0 || longestKey(lit) > 0) {
			all = append(all, lit)
		}
	}
	return all
}

// longestKey returns how long the longest key of a literal is.
func longestKey(lit *ast.CompositeLit) (longest int) {
	for _, element := range lit.Elts {
		if kv, ok := element.(*ast.KeyValueExpr); ok {
			longest = max(longest, int(kv.Key.End()-kv.Key.Pos()))
		}
	}
	return longest
}

package series

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
)

// Tree returns upstream's tree as it is after a step. The number of steps stands for the whole overlay, with what is left out and without
// the fixes, as it has its own.
func (s *Series) Tree(last int) (t filetree.Tree, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("after %s the overlay does not fit: %w", s.Steps[min(last, s.never()-1)].Name, err)
		}
	}()
	o := &plan.Overlay{}
	var ps problem.List
	for _, f := range s.plan.Overlay.Files {
		if s.files[f.Path] > last {
			continue
		}
		data, err := s.form(f, last)
		if err != nil {
			return nil, err
		}
		if form := o.ReadFile(f.Path, data, s.plan.Module.Version, &ps); form != nil {
			o.Files = append(o.Files, form)
		}
	}
	if ps.OrNil() != nil {
		return nil, ps
	}
	var fixes []Step
	for i, fix := range s.Steps[:s.fixes] {
		if i <= last && last < s.until(fix) {
			fixes = append(fixes, fix)
		}
	}
	p, tree, err := lay(s.plan.Module, o, fixes...)
	if err != nil {
		return nil, err
	}
	return s.named(p, tree)
}

// lay lays an overlay over a module with fixes, as it is in upstream's tree.
func lay(m *upstream.Module, o *plan.Overlay, fixes ...Step) (*plan.Plan, filetree.Tree, error) {
	var ps problem.List
	for _, fix := range fixes {
		for _, file := range fix.archive {
			if read := o.ReadFile(file.Name, file.Data, m.Version, &ps); read != nil {
				o.Files = append(o.Files, read)
			}
		}
	}
	if ps.OrNil() != nil {
		return nil, nil, ps
	}
	p, ps := plan.Match(m, o)
	if len(ps) > 0 {
		return nil, nil, ps
	}
	built, err := assemble.Build(p)
	if err != nil {
		return nil, nil, err
	}
	tree := assemble.Licensed(assemble.Pristine(m), built)
	for _, fix := range fixes {
		for _, edit := range fix.Edits {
			touched := func(t plan.Touch) bool { return t.Key.String() == edit.In && t.How != syntax.Extend }
			if slices.ContainsFunc(p.Touches, touched) {
				continue
			}
			if err := edit.apply(tree); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", fix.from, err)
			}
		}
	}
	return p, tree, nil
}

// form returns a file as it is after a step.
func (s *Series) form(f *plan.File, last int) ([]byte, error) {
	if f.Source == nil {
		return f.Data, nil
	}
	data, err := s.asBefore(f, last)
	if err != nil {
		return nil, err
	}
	source, err := syntax.Parse(f.Path, data)
	if err != nil {
		return nil, err
	}
	cuts := s.lateFields(source, last)
	if bytes.Equal(data, f.Data) && len(cuts) == 0 {
		return f.Data, nil
	}
	if data, err = assemble.Splice(data, cuts); err != nil {
		return nil, err
	}
	// Some imports are for what comes later.
	if data, err = assemble.WithImports(f.Path, data, nil); err != nil {
		return nil, err
	}
	return format.Source(data)
}

// named gives files and wrapped declarations the names that they have in upstream's tree.
func (s *Series) named(plan *plan.Plan, t filetree.Tree) (filetree.Tree, error) {
	out := maps.Clone(t)
	for from, to := range s.Options.Files {
		if data, ok := out[from]; ok {
			if _, taken := out[to]; taken {
				return nil, fmt.Errorf("%s cannot be named %s: there is a file of this name", from, to)
			}
			delete(out, from)
			out[to] = data
		}
	}
	return out, errors.Join(nameWrapped(plan, out), s.keepComments(plan, out))
}

// asBefore returns the text of a file with the declarations that steps after the last one change as these were before, the latest step
// first.
func (s *Series) asBefore(f *plan.File, last int) ([]byte, error) {
	data := f.Data
	for i := len(s.Steps) - 1; i > last; i-- {
		at := slices.IndexFunc(s.Steps[i].archive, func(file txtar.File) bool { return file.Name == f.Path })
		if at < 0 || i < s.fixes {
			continue
		}
		before, err := syntax.Parse(f.Path, s.Steps[i].archive[at].Data)
		if err != nil {
			return nil, err
		}
		now, err := syntax.Parse(f.Path, data)
		if err != nil {
			return nil, err
		}
		var edits []assemble.Edit
		for _, d := range before.Decls {
			late := now.Decl(d.Key.Name)
			if late == nil {
				return nil, fmt.Errorf("%s: %s has no %s", s.Steps[i].from, f.Path, d.Key.Name)
			}
			edit := assemble.Edit{}
			edit.Start, edit.End = late.Extent()
			from, to := d.Extent()
			edit.Text = before.Src[from:to]
			edits = append(edits, edit)
		}
		if data, err = assemble.Splice(data, edits); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// lateFields returns the edits that take out fields of structs that come later, each with its comments.
func (s *Series) lateFields(source *syntax.File, last int) []assemble.Edit {
	var cuts []assemble.Edit
	for _, d := range source.Decls {
		st := d.StructType()
		if st == nil {
			continue
		}
		for _, field := range st.Fields.List {
			if len(field.Names) != 1 {
				continue
			}
			key := syntax.Key{Package: path.Dir(source.Path), Name: d.Key.Name + "." + field.Names[0].Name}
			if s.fields[key.String()] <= last {
				continue
			}
			from, to := field.Pos(), field.End()
			if field.Doc != nil {
				from = field.Doc.Pos()
			}
			if field.Comment != nil {
				to = field.Comment.End()
			}
			cuts = append(cuts, assemble.CutLines(source.Src, source.Offset(from), source.Offset(to)))
		}
	}
	return cuts
}

// keepComments gives the functions that replace upstream's the comments that they had.
func (s *Series) keepComments(p *plan.Plan, t filetree.Tree) error {
	for _, touch := range p.Touches {
		if touch.How != syntax.Replace || touch.Theirs.Func == nil || touch.Theirs.Func.Doc == nil {
			continue
		}
		name := touch.Theirs.File.Path
		source, err := syntax.Parse(name, t[name])
		if err != nil {
			return err
		}
		ours := source.Decl(touch.Key.Name)
		if ours == nil || ours.Func.Doc == nil {
			return fmt.Errorf("%s has no %s with a comment", name, touch.Key)
		}
		theirs, doc := touch.Theirs.Func.Doc, ours.Func.Doc
		edit := assemble.Edit{Start: source.Offset(doc.Pos()), End: source.Offset(doc.End())}
		edit.Text = slices.Clone(touch.Theirs.File.Text(theirs.Pos(), theirs.End()))
		paragraphs := bytes.Split(source.Src[edit.Start:edit.End], []byte("\n//\n"))
		for _, n := range s.Options.Comments[touch.Key.String()] {
			if n > len(paragraphs) {
				return fmt.Errorf("%s: the comment of %s has no paragraph %d", setup, touch.Key, n)
			}
			edit.Text = append(append(edit.Text, "\n//\n"...), paragraphs[n-1]...)
		}
		if t[name], err = assemble.Splice(source.Src, []assemble.Edit{edit}); err != nil {
			return err
		}
	}
	return nil
}

// nameWrapped makes one function of each wrapper and what it wraps, or else gives that its name in upstream's tree, doConnect for connect,
// which is upstreamConnect in the fork. Nothing is left of how the change was made.
func nameWrapped(p *plan.Plan, t filetree.Tree) error {
	var two []plan.Touch
	for _, touch := range p.Touches {
		if touch.How != syntax.Wrap {
			continue
		}
		if one, err := mergeWrapped(p, t, touch); err != nil {
			return err
		} else if !one {
			two = append(two, touch)
		}
	}
	for _, touch := range two {
		bare, wrapped := touch.Ours.Bare(), plan.UpstreamName(touch.Ours.Bare())
		name, word := "do"+strings.TrimPrefix(wrapped, "upstream"), regexp.MustCompile(`\b`+wrapped+`\b`)
		doc := regexp.MustCompile(`(?m)^// ` + bare + `( (?:.*\n//)*.*\nfunc (?:\(.*?\) )?` + wrapped + `\()`)
		for file, data := range t {
			if path.Dir(file) != path.Dir(touch.Theirs.File.Path) || !word.Match(data) {
				continue
			}
			text := word.ReplaceAll(doc.ReplaceAll(data, []byte("// "+name+"$1")), []byte(name))
			var err error
			if t[file], err = format.Source(text); err != nil {
				return err
			}
		}
	}
	return nil
}

// mergeWrapped makes one function of a wrapper and of what it wraps, if nothing else calls that and the two can be one.
func mergeWrapped(p *plan.Plan, t filetree.Tree, touch plan.Touch) (done bool, err error) {
	for _, f := range p.Overlay.Files {
		for _, d := range f.Decls {
			if d.Func != nil && d.Key.Package == touch.Key.Package && d.Bare() != touch.Ours.Bare() &&
				syntax.Mentions(d.Func, plan.UpstreamName(touch.Ours.Bare())) {
				return false, nil
			}
		}
	}
	name := touch.Theirs.File.Path
	source, err := syntax.Parse(name, t[name])
	if err != nil {
		return false, err
	}
	ours, theirs := source.Decl(touch.Key.Name), source.Decl(plan.WrappedKey(touch).Name)
	text, done := merged(source, ours.Func, theirs.Func)
	if !done {
		return false, nil
	}
	edit := assemble.Edit{Text: []byte(text)}
	edit.Start, _ = ours.Extent()
	_, edit.End = theirs.Extent()
	spliced, err := assemble.Splice(source.Src, []assemble.Edit{edit})
	if err != nil {
		return false, err
	}
	t[name], err = format.Source(spliced)
	return true, err
}

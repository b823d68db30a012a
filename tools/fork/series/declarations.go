package series

import (
	"bytes"
	"fmt"
	"go/ast"
	"path"
	"slices"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/syntax"

	"golang.org/x/tools/txtar"
)

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
			if s.fields[key.String()] > last {
				cuts = append(cuts, cutField(source, field))
			}
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

func cutField(source *syntax.File, field *ast.Field) assemble.Edit {
	from, to := field.Pos(), field.End()
	if field.Doc != nil {
		from = field.Doc.Pos()
	}
	if field.Comment != nil {
		to = field.Comment.End()
	}
	return assemble.CutLines(source.Src, source.Offset(from), source.Offset(to))
}

package series

import (
	"os"
	"path/filepath"

	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
)

// Finder says which step of the series brings what of the overlay.
type Finder struct{ series *Series }

// NewFinder reads the steps of a repository; without any, nothing has a place. What is wrong with them is for those who write the series.
func NewFinder(root string, of *plan.Plan) (Finder, error) {
	if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(Folder))); err != nil {
		return Finder{}, nil
	}
	s, err := placedSeries(root, of, &problem.List{})
	return Finder{s}, err
}

// OfDecl names the step that brings a declaration.
func (p Finder) OfDecl(d *plan.Decl) string {
	if p.series == nil {
		return ""
	}
	if at, ok := p.series.decls[d.Key]; ok {
		return p.name(at)
	}
	return p.OfFile(d.File.Path)
}

// OfFile names the step that brings a file.
func (p Finder) OfFile(file string) string {
	if p.series == nil {
		return ""
	}
	if at, ok := p.series.files[file]; ok {
		return p.name(at)
	}
	return "none"
}

func (p Finder) name(step int) string {
	if step == p.series.never() {
		return "left out"
	}
	return p.series.Steps[step].Name
}

// OfLine names the step that brings the directive or declaration in a line of a file.
func (p Finder) OfLine(file string, line int) string {
	if p.series == nil {
		return ""
	}
	if f := p.series.file(file); f != nil && f.Source != nil {
		for _, d := range f.Decls {
			start, end := d.Extent()
			if f.Source.LineAt(start) <= line && line <= f.Source.LineAt(end) {
				return p.OfDecl(d)
			}
		}
	}
	return p.OfFile(file)
}

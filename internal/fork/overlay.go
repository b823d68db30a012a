package fork

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"io/fs"
	"path"
	"strings"
)

// Overlay is what this repository lays over the upstream module.
type Overlay struct {
	// Files are the files for the chosen base, in the order of their paths.
	Files []*OverlayFile
	// incomplete is set when a file could not be understood, so that what it
	// declares is unknown.
	incomplete bool
}

// OverlayFile is one file of the overlay.
type OverlayFile struct {
	// Path is the same in this repository and in the output.
	Path string
	Data []byte
	// Source is nil for files that are not Go source.
	Source *SourceFile
	// Decls are the declarations with their directives.
	Decls []*OverlayDecl
	// Watches are the references of //fork:watch directives.
	Watches []Watched
}

// OverlayDecl is a declaration of ours.
type OverlayDecl struct {
	*Decl
	// Directive says how an upstream declaration is touched; nil if the
	// declaration is new.
	Directive *Directive
	// Line is where the directive, or the declaration, stands.
	Line int
	// unclear is set when a directive that was probably meant for this
	// declaration has been refused; what it asserts is not known then.
	unclear bool
}

// Watched is one name in a //fork:watch directive.
type Watched struct {
	Target string
	File   *SourceFile
	Line   int
}

// ReadOverlay reads the overlay folders below fsys as far as they are meant
// for version. Problems are about files that cannot be used.
func ReadOverlay(fsys fs.FS, version string, folders []Folder) (*Overlay, Problems, error) {
	o := &Overlay{}
	var ps Problems
	for _, folder := range folders {
		err := fs.WalkDir(fsys, folder.Path, func(name string, e fs.DirEntry, err error) error {
			if err != nil || !accepts(name, e, &ps) {
				return skipDir(e, err)
			}
			data, err := fs.ReadFile(fsys, name)
			if err != nil {
				return err
			}
			if f := o.readFile(name, data, version, &ps); f != nil {
				o.Files = append(o.Files, f)
			}
			return nil
		})
		if errors.Is(err, fs.ErrNotExist) {
			ps.add(folder.File, folder.Line, "create the folder or remove the line", "overlay folder %s does not exist", folder.Path)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return o, ps, nil
}

// accepts reports whether a directory entry is a file to read. Files that the
// go command or a module zip would drop silently are problems.
func accepts(name string, e fs.DirEntry, ps *Problems) bool {
	base := path.Base(name)
	switch {
	case strings.HasPrefix(base, "."):
		return false // editors' and operating systems' own files
	case strings.HasPrefix(base, "_"):
		ps.add(name, 0, "rename it, or move it out of the overlay folders", "the go command ignores names that begin with _")
	case e.IsDir():
	case !e.Type().IsRegular():
		ps.add(name, 0, "replace it with a copy", "not a regular file; module zips and go mod vendor drop it")
	case base == "go.mod" || base == "go.work":
		ps.add(name, 0, "remove the file", "a nested module would not be part of the fork")
	default:
		return true
	}
	return false
}

// skipDir makes a walk leave out directories whose names were refused.
func skipDir(e fs.DirEntry, err error) error {
	if err == nil && e.IsDir() && strings.IndexAny(path.Base(e.Name()), "._") == 0 && e.Name() != "." {
		return fs.SkipDir
	}
	return err
}

// readFile reads one overlay file; nil if it is for other bases or unusable.
func (o *Overlay) readFile(name string, data []byte, version string, ps *Problems) *OverlayFile {
	if !isGoFile(name) {
		return &OverlayFile{Path: name, Data: data}
	}
	source, err := parseSource(name, data)
	if err != nil {
		o.incomplete = true
		ps.addSyntax(name, err)
		return nil
	}
	f := &OverlayFile{Path: name, Data: data, Source: source}
	r := directiveReader{file: f, ps: ps}
	rng := r.read()
	o.incomplete = o.incomplete || r.failed
	if !rng.Holds(version) {
		return nil
	}
	// Splicing keeps bytes as they are, so only a formatted overlay gives a
	// formatted output.
	if !isFormatted(data) {
		ps.add(name, 0, "gofmt -w "+name, "the file is not formatted as gofmt does")
	}
	return f
}

// isFormatted reports whether Go source is laid out as gofmt does.
func isFormatted(src []byte) bool {
	formatted, err := format.Source(src)
	return err == nil && bytes.Equal(formatted, src)
}

// directiveReader attaches the directives of a file to its declarations.
type directiveReader struct {
	file   *OverlayFile
	ps     *Problems
	failed bool
	rng    BaseRange
	docs   map[*ast.CommentGroup][]*OverlayDecl
}

func (r *directiveReader) read() BaseRange {
	r.docs = map[*ast.CommentGroup][]*OverlayDecl{}
	src := r.file.Source
	for _, d := range src.Decls {
		od := &OverlayDecl{Decl: d, Line: src.line(d.pos())}
		r.file.Decls = append(r.file.Decls, od)
		for _, doc := range d.docs() {
			r.docs[doc] = append(r.docs[doc], od)
		}
		if d.grouped() && d.gen.Doc != nil {
			r.docs[d.gen.Doc] = append(r.docs[d.gen.Doc], od) // refused by attach
		}
	}
	for _, group := range src.AST.Comments {
		for _, c := range group.List {
			d, ok, err := ParseDirective(c.Text)
			if !ok {
				continue
			}
			if err != nil {
				r.obscure(r.docs[group])
				r.fail(c, "write the directive as docs/builder.md says", "%v", err)
				continue
			}
			r.place(d, c, group)
		}
	}
	return r.rng
}

func (r *directiveReader) fail(c *ast.Comment, mend, format string, args ...any) {
	r.failed = true
	r.ps.add(r.file.Path, r.file.Source.line(c.Pos()), mend, format, args...)
}

// obscure marks declarations whose directive is refused.
func (r *directiveReader) obscure(decls []*OverlayDecl) {
	for _, d := range decls {
		d.unclear = true
	}
}

// following returns the first declaration after pos.
func (r *directiveReader) following(pos token.Pos) []*OverlayDecl {
	for i, d := range r.file.Decls {
		if d.pos() > pos {
			return r.file.Decls[i : i+1]
		}
	}
	return nil
}

// place decides what a directive belongs to by where it stands.
func (r *directiveReader) place(d Directive, c *ast.Comment, group *ast.CommentGroup) {
	src := r.file.Source
	decls := r.docs[group]
	switch {
	case d.Verb == Base && c.Pos() > src.AST.Package:
		r.fail(c, "move it above the package clause", "//fork:base stands after the package clause")
	case d.Verb == Base && r.rng != nil:
		r.fail(c, "join the terms on one line", "a second //fork:base")
	case d.Verb == Base:
		r.rng = d.Range
	case c.Pos() < src.AST.Package:
		r.fail(c, "move it to the declaration that it is about", "//fork:%s stands before the package clause", d.Verb)
	case decls == nil && r.inside(c.Pos()):
		r.fail(c, "move it to the doc comment of a package-level declaration", "//fork:%s stands inside a declaration", d.Verb)
	case d.Verb == Watch:
		for _, target := range d.Targets {
			r.file.Watches = append(r.file.Watches, Watched{Target: target, File: src, Line: src.line(c.Pos())})
		}
	case decls == nil:
		r.obscure(r.following(c.Pos()))
		r.fail(c, "put it directly above the declaration, without a blank line between", "//fork:%s is detached from any declaration", d.Verb)
	default:
		r.attach(d, c, decls)
	}
}

// attach gives a directive to the one declaration that it documents.
func (r *directiveReader) attach(d Directive, c *ast.Comment, decls []*OverlayDecl) {
	target := decls[0]
	name := target.Key.Name
	switch {
	case target.shared > 1:
		r.fail(c, "declare each name on its own", "//fork:%s %s: the line declares %d names", d.Verb, name, target.shared)
	case target.grouped():
		r.fail(c, "take the declaration out of the parentheses", "//fork:%s %s: the declaration shares its parentheses with others", d.Verb, name)
	case target.unnamed():
		r.fail(c, "give the declaration a name", "//fork:%s %s: nothing can be found by this name", d.Verb, name)
	case target.Directive != nil:
		r.fail(c, "keep one of them", "//fork:%s %s: the declaration already has //fork:%s", d.Verb, name, target.Directive.Verb)
	default:
		target.Directive, target.Line = &d, r.file.Source.line(c.Pos())
		return
	}
	r.obscure(decls)
}

// inside reports whether pos is within a package-level declaration.
func (r *directiveReader) inside(pos token.Pos) bool {
	for _, decl := range r.file.Source.AST.Decls {
		if decl.Pos() <= pos && pos < decl.End() {
			return true
		}
	}
	return false
}

// at returns "file:line" of the directive.
func (w Watched) at() string { return fmt.Sprintf("%s:%d", w.File.Path, w.Line) }

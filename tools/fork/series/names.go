package series

import (
	"go/format"
	"path"
	"regexp"
	"strings"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/syntax"
)

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
			formatted, err := format.Source(text)
			if err != nil {
				return err
			}
			t[file] = formatted
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

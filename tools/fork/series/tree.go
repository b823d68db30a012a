package series

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/format"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/layer"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/syntax"
)

// trees returns upstream's tree as it is before the series and after each commit, and the commits' messages.
func (s *Series) trees() (trees []filetree.Tree, messages []string, err error) {
	laid := layer.On(s.module)
	trees, messages = []filetree.Tree{laid.Module.Tree}, []string{s.module.String()}
	for _, step := range s.Steps {
		if step.Layer.Alone {
			continue
		}
		var next filetree.Tree
		if laid, next, err = s.lay(laid, step); err != nil {
			return nil, nil, fmt.Errorf("after %s the overlay does not fit: %w", step.Layer.Name, err)
		}
		if len(filetree.Changed(trees[len(trees)-1], next)) > 0 {
			trees, messages = append(trees, next), append(messages, step.Message)
		}
	}
	return trees, messages, nil
}

// lay lays the layer of a step, and returns the tree, too, as upstream would have it.
func (s *Series) lay(on *layer.Laid, step Step) (*layer.Laid, filetree.Tree, error) {
	laid, ps, err := on.Lay(&step.Layer)
	if err := cmp.Or(err, ps.OrNil()); err != nil {
		return nil, nil, err
	}
	tree, err := s.named(laid)
	return laid, tree, err
}

// named returns a tree as upstream would have it, with its names of files and wrapped declarations.
func (s *Series) named(laid *layer.Laid) (filetree.Tree, error) {
	plan, out := laid.Plan, maps.Clone(assemble.Licensed(assemble.Pristine(s.module), laid.Module.Tree))
	for from, to := range s.Options.Files {
		if data, ok := out[from]; ok {
			if _, taken := out[to]; taken {
				return nil, fmt.Errorf("%s cannot be named %s: there is a file of this name", from, to)
			}
			delete(out, from)
			out[to] = data
		}
	}
	if err := errors.Join(nameWrapped(plan, out), s.keepComments(plan, out)); err != nil {
		return nil, err
	}
	return out, assemble.Format(s.module, out)
}

// keepComments gives the functions that replace upstream's the comments that they had, unless these would be wrong.
func (s *Series) keepComments(p *plan.Plan, t filetree.Tree) error {
	for _, touch := range p.Touches {
		added, listed := s.Options.Comments[touch.Key.String()]
		if touch.How != syntax.Replace || touch.Theirs.Func == nil || touch.Theirs.Func.Doc == nil || listed && len(added) == 0 {
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
		text := slices.Clone(touch.Theirs.File.Text(theirs.Pos(), theirs.End()))
		paragraphs := bytes.Split(source.Text(doc.Pos(), doc.End()), []byte("\n//\n"))
		for _, n := range added {
			if n < 1 || n > len(paragraphs) {
				return fmt.Errorf("%s: the comment of %s has no paragraph %d", setup, touch.Key, n)
			}
			text = append(append(text, "\n//\n"...), paragraphs[n-1]...)
		}
		t[name] = slices.Concat(source.Src[:source.Offset(doc.Pos())], text, source.Src[source.Offset(doc.End()):])
	}
	return nil
}

// nameWrapped combines each wrapper with the function that it wraps. If that is impossible, it gives the wrapped function a name in
// upstream's style: doConnect for what is upstreamConnect in the fork. Nothing shows how the fork made the change.
func nameWrapped(p *plan.Plan, t filetree.Tree) error {
	var two []plan.Touch
	for i, touch := range p.Touches {
		if touch.How != syntax.Wrap {
			continue
		}
		ours := touch.Key
		for _, outer := range slices.Backward(p.Touches[i+1:]) { // the next one has taken its name
			if outer.How == syntax.Wrap && outer.Key == touch.Key {
				ours = plan.WrappedKey(outer)
			}
		}
		if one, err := mergeWrapped(p, t, touch, ours.Name); err != nil {
			return err
		} else if !one {
			two = append(two, touch)
		}
	}
	for _, touch := range two {
		bare, wrapped, name := touch.Ours.Bare(), touch.Wrapped, touch.Wrapped
		if !slices.ContainsFunc(two, func(other plan.Touch) bool { return other.Key == touch.Key && other.Wrapped != wrapped }) {
			name = plan.UpstreamName(bare) // also if a later layer wraps the function, which renames nothing then
		}
		name = "do" + strings.TrimPrefix(name, "upstream")
		word := regexp.MustCompile(`\b` + wrapped + `\b`)
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

// mergeWrapped makes one function of a wrapper, which is called so by now, and of what it wraps, if nothing else calls that and the two can
// be one.
func mergeWrapped(p *plan.Plan, t filetree.Tree, touch plan.Touch, wrapper string) (done bool, err error) {
	for _, f := range p.Overlay.Files() {
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
	ours, theirs := source.Decl(wrapper), source.Decl(plan.WrappedKey(touch).Name)
	text, done := merged(source, ours.Func, theirs.Func)
	if !done {
		return false, nil
	}
	start, _ := ours.Extent()
	_, end := theirs.Extent()
	t[name], err = format.Source(slices.Concat(source.Src[:start], []byte(text), source.Src[end:]))
	return true, err
}

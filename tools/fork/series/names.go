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

var (
	// wrappedName matches the names by which our wrappers call what they wrap.
	wrappedName = regexp.MustCompile(`\bupstream([A-Z]\w*)`)
	// wrappedDoc matches a wrapped function's comment, which begins with its former name.
	wrappedDoc = regexp.MustCompile(`(?m)^// (\w+)((?:.*\n//)*.*\nfunc (?:\(.*?\) )?)(upstream\w+)\(`)
)

// doing returns the name that a wrapped function has in upstream's tree: doConnect for connect, which is upstreamConnect in the fork.
func doing(name string) string { return "do" + strings.TrimPrefix(plan.UpstreamName(name), "upstream") }

// nameWrapped gives what is wrapped its names in upstream's tree, so that nothing is left of how the change was made.
func nameWrapped(p *plan.Plan, t filetree.Tree) error {
	wrapped := map[string]map[string]bool{} // by folder, the former names
	for _, touch := range p.Touches {
		if touch.How != syntax.Wrap {
			continue
		}
		done, err := mergeWrapped(t, touch, p.Touches)
		if err != nil {
			return err
		}
		if done {
			continue
		}
		if wrapped[touch.Key.Package] == nil {
			wrapped[touch.Key.Package] = map[string]bool{}
		}
		wrapped[touch.Key.Package][plan.UpstreamName(touch.Ours.Bare())] = true
	}
	for file, data := range t {
		names := wrapped[path.Dir(file)]
		if !syntax.IsGoFile(file) || names == nil || !wrappedName.Match(data) {
			continue
		}
		text := wrappedDoc.ReplaceAllStringFunc(string(data), func(doc string) string {
			part := wrappedDoc.FindStringSubmatch(doc)
			if plan.UpstreamName(part[1]) != part[3] {
				return doc
			}
			return "// " + doing(part[1]) + part[2] + part[3] + "("
		})
		text = wrappedName.ReplaceAllStringFunc(text, func(name string) string {
			if !names[name] {
				return name
			}
			return "do" + strings.TrimPrefix(name, "upstream")
		})
		formatted, err := format.Source([]byte(text))
		if err != nil {
			return err
		}
		t[file] = formatted
	}
	return nil
}

// mergeWrapped makes one function of a wrapper and of what it wraps, if nothing else calls that and the two can be one.
func mergeWrapped(t filetree.Tree, touch plan.Touch, all []plan.Touch) (done bool, err error) {
	name := touch.Theirs.File.Path
	wrapped := plan.UpstreamName(touch.Ours.Bare())
	once := regexp.MustCompile(`\b` + wrapped + `\b`)
	found := 0
	for _, other := range all { // each has the declaration and a call
		if other.How == syntax.Wrap && other.Key.Package == touch.Key.Package && other.Ours.Bare() == touch.Ours.Bare() {
			found -= 2
		}
	}
	for file, data := range t {
		if path.Dir(file) == path.Dir(name) {
			found += len(once.FindAll(data, -1))
		}
	}
	source, err := syntax.Parse(name, t[name])
	if err != nil {
		return false, err
	}
	ours, theirs := source.Decl(touch.Key.Name), source.Decl(plan.WrappedKey(touch).Name)
	if ours == nil || theirs == nil || found > 0 {
		return false, nil
	}
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

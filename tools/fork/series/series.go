// Package series writes the overlay as a series of patches, one for each layer.
package series

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/git"
	"mongofork/tools/fork/layer"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
	"mongofork/tools/strict"
)

// Series tells the overlay of one base layer by layer.
type Series struct {
	Options Options
	Steps   []Step

	root      string
	module    *upstream.Module
	formatted map[string][]byte // what Format has made of a text
}

// New reads the layers of a repository as steps.
func New(root string, whole *plan.Plan) (*Series, error) {
	var opt Options
	err := strict.Read(filepath.Join(root, setup), &opt)
	if err != nil {
		return nil, err
	}
	s := &Series{Options: opt, root: root, module: whole.Module, formatted: map[string][]byte{}}
	var ps problem.List
	for _, layer := range whole.All {
		if opt.left(layer.Name) {
			continue
		}
		step := Step{Layer: *layer}
		step.Layer.Files = slices.DeleteFunc(slices.Clone(layer.Files), func(f *plan.File) bool { return opt.left(f.From) })
		if step.Message, err = opt.message(root, layer, whole.Module.Version, &ps); err != nil {
			return nil, err
		}
		s.Steps = append(s.Steps, step)
	}
	return s, problem.Join(ps)
}

// formatPatch is how git writes patches.
var formatPatch = strings.Fields("format-patch --no-signature --zero-commit --full-index --no-renames --stat-width=100 " +
	"--filename-max-length=80")

// Patches returns the cover letter and the patches, by file name, each in the format of git format-patch, and the tree after the last
// patch.
func (s *Series) Patches(ctx context.Context, author string, at time.Time) (patches, tree filetree.Tree, err error) {
	trees, messages, err := s.trees()
	if err != nil {
		return nil, nil, err
	}
	g, done := git.New(ctx, author, at)
	defer done()
	for i, tree := range trees {
		g.Commit(tree, messages[i])
	}
	n := fmt.Sprint(len(trees) - 1)
	g.Run(slices.Concat(formatPatch, []string{"-" + n, "-o", ".git/series", "--numbered"})...)
	letter := s.letter(g, author, n)
	if g.Err != nil {
		return nil, nil, g.Err
	}
	patches, err = filetree.Read(filepath.Join(g.Dir, ".git", "series"))
	patches["0000-cover-letter.patch"] = letter
	return patches, trees[len(trees)-1], err
}

// letter returns the cover letter, which git am does not apply.
func (s *Series) letter(g *git.Repository, author, n string) []byte {
	return fmt.Appendf(nil, "From %s Mon Sep 17 00:00:00 2001\nFrom: %s\nDate: %s\nSubject: [PATCH %s/%s] %s\n\n%s\n\n%s\n%s",
		strings.Repeat("0", 40), author, bytes.TrimSpace(g.Run("log", "-1", "--format=%aD")), strings.Repeat("0", len(n)), n,
		strings.TrimSpace(s.Options.Ticket+" "+s.Options.Title), strings.TrimSpace(s.Options.Letter),
		g.Run("log", "--reverse", "--format=  %s", "-"+n), g.Run("diff", "--shortstat", "HEAD~"+n))
}

// FixPatches returns the patch of each layer that has a report alone, on upstream's tree, by the names of the defects.
func (s *Series) FixPatches(ctx context.Context, author string, at time.Time) (filetree.Tree, error) {
	g, done := git.New(ctx, author, at)
	defer done()
	patches, before := filetree.Tree{}, assemble.Pristine(s.module)
	theirs := func(name string) bool { return before[name] != nil }
	g.Commit(before, s.module.String())
	for _, step := range s.Steps {
		name := step.Layer.Name
		report := filepath.Join(s.root, "docs", "upstream-defects", path.Base(name)+".md")
		if _, err := os.Stat(report); !step.Layer.Below || err != nil || strings.Contains(name, "/topics/") { // no defects
			continue
		}
		_, after, err := s.lay(layer.On(s.module), step)
		if err != nil {
			return nil, fmt.Errorf("%s alone: %w", name, err)
		}
		if slices.ContainsFunc(filetree.Changed(before, after), theirs) { // else it has only the tests that it shares, on this base
			g.Commit(after, step.Message)
			patches[path.Base(name)+".patch"] = g.Run(slices.Concat(formatPatch, []string{"-1", "--stdout"})...)
			g.Commit(before, "as it was")
		}
	}
	return patches, g.Err
}

// Write writes a series to a folder, in the place of the series that is there.
func Write(dir string, patches filetree.Tree) error {
	old, err := filepath.Glob(filepath.Join(dir, "*.patch"))
	for _, name := range old {
		err = errors.Join(err, os.Remove(name))
	}
	return errors.Join(err, patches.Write(dir))
}

// Folder holds the setup of the series, and the messages of layers without a folder of their own.
const (
	Folder = "etc/series"
	setup  = Folder + "/series.yaml"
)

// Step is one commit of the series: a layer, without the files that the series leaves out, and the message that its README is. On a base
// where the layer changes nothing it is left out.
type Step struct {
	Layer   plan.Layer
	Message string
}

// sections begin the paragraphs that each message must have, after the description of the problem. The last section is not sent to
// upstream.
var sections = []string{"**Users.** ", "**Source.** ", "**Tests.** ", "**Dropped by.** "}

// Options is what the series has besides its steps.
type Options struct {
	// Ticket stands at the beginning of each title.
	Ticket string `yaml:"ticket"`
	// Title and Letter are those of the cover letter.
	Title  string `yaml:"title"`
	Letter string `yaml:"letter"`
	// Left are the files of the overlay, and the folders of layers, that upstream has no use for.
	Left []string `yaml:"left"`
	// Files maps a file of the overlay to its name in upstream's tree.
	Files map[string]string `yaml:"files"`
	// Comments has the keys of functions whose comments, which are upstream's, get these paragraphs of ours, counted from 1. Those
	// that get none have our comment alone.
	Comments map[string][]int `yaml:"comments"`
}

// OursAlone reports whether a function has our comment alone.
func (o Options) OursAlone(key string) bool {
	added, listed := o.Comments[key]
	return listed && len(added) == 0
}

// left reports whether a file or a layer stays out of the series.
func (o Options) left(name string) bool {
	return slices.ContainsFunc(o.Left, func(out string) bool { return name == out || strings.HasPrefix(name, out+"/") })
}

// forVersion matches a paragraph that is only for some of upstream's versions, and their range.
var forVersion = regexp.MustCompile(`^\[([^\]]+)\]\s`)

// message returns the message of a layer's commit for a version of upstream, and lists what its README does not say.
func (o Options) message(root string, layer *plan.Layer, version string, ps *problem.List) (string, error) {
	from := path.Join(Folder, layer.Name+".md")
	if layer.Below {
		from = path.Join(layer.Name, "README.md")
	}
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(from)))
	if err != nil {
		return "", fmt.Errorf("the layer %q has no message: %w", layer.Name, err)
	}
	text, titled := strings.CutPrefix(strings.TrimSpace(string(data)), "# ")
	title, text, _ := strings.Cut(text, "\n\n")
	if title = strings.TrimSpace(title); !titled || len(title) > 60 || strings.Contains(title, "\n") {
		ps.Add(from, 0, "shorten it", "the first line is not # and a title of at most 60 bytes")
	}
	said, missing := strings.TrimSpace(o.Ticket+" "+title)+"\n", slices.Clone(sections)
	for p := range strings.SplitSeq(text, "\n\n") {
		if of := forVersion.FindStringSubmatch(p); of != nil {
			versions, err := syntax.ParseBaseRange(strings.Fields(of[1]))
			if err != nil {
				ps.Add(from, 0, "write versions as //fork:base does", "%v", err)
			} else if !versions.Holds(version) {
				continue
			}
			p = p[len(of[0]):]
		}
		missing = slices.DeleteFunc(missing, func(section string) bool { return strings.HasPrefix(p, section) })
		if strings.HasPrefix(p, sections[len(sections)-1]) {
			continue
		}
		if name, text, ok := strings.Cut(p, ".** "); ok && strings.HasPrefix(name, "**") {
			p = name[2:] + ": " + text
		}
		said += "\n" + fill(p) + "\n"
	}
	for _, section := range missing {
		ps.Add(from, 0, "write it: reviewers know nothing but the driver", "no paragraph begins with %s",
			strings.TrimSpace(section))
	}
	return said, nil
}

// fill breaks a paragraph into lines of at most 72 bytes, as commit messages have them, where words permit. It leaves a table as it is.
func fill(text string) string {
	if strings.HasPrefix(text, "    ") {
		return text
	}
	var lines []string
	for _, word := range strings.Fields(text) {
		last := len(lines) - 1
		if last < 0 || len(lines[last])+1+len(word) > 72 {
			lines = append(lines, word)
			continue
		}
		lines[last] += " " + word
	}
	return strings.Join(lines, "\n")
}

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
	laid, err := on.Lay(&step.Layer)
	if err != nil {
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
	return out, assemble.Format(s.module, out, s.formatted)
}

// keepComments gives the functions that replace upstream's the comments that they had, unless these would be wrong. Such a comment is taken
// from functions that are one with their wrapper, too.
func (s *Series) keepComments(p *plan.Plan, t filetree.Tree) error {
	for _, touch := range p.Touches {
		oursAlone := s.Options.OursAlone(touch.Key.String())
		fits := touch.How == syntax.Replace && !oursAlone || touch.How == syntax.Wrap && oursAlone // which has both comments
		if !fits || touch.Theirs.Func == nil || touch.Theirs.Func.Doc == nil {
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
		had, between := source.Text(doc.Pos(), doc.End()), []byte("\n//\n")
		paragraphs := bytes.Split(had, between)
		if oursAlone {
			text = bytes.TrimPrefix(had, append(text, between...))
		}
		for _, n := range s.Options.Comments[touch.Key.String()] {
			if n < 1 || n > len(paragraphs) {
				return fmt.Errorf("%s: the comment of %s has no paragraph %d", setup, touch.Key, n)
			}
			text = append(append(text, between...), paragraphs[n-1]...)
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
			if path.Dir(file) != path.Dir(touch.Theirs.File.Path) || !bytes.Contains(data, []byte(wrapped)) {
				continue
			}
			t[file] = word.ReplaceAll(doc.ReplaceAll(data, []byte("// "+name+"$1")), []byte(name))
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
	t[name] = slices.Concat(source.Src[:start], []byte(text), source.Src[end:])
	return true, nil
}

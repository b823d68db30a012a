package series

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"mongofork/tools/command"
	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/git"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
)

// Fixes is the folder of the fixes. Each is an archive: the message and the edits, then new files, which may have directives.
const Fixes = Folder + "/fixes"

// Fix is the smallest change that mends one defect of upstream. It has the name of the defect's report. The series begins with the fixes.
type Fix struct {
	Step `yaml:",inline"`
	// Base is the range of upstream's versions that it is for.
	Base string `yaml:"base"`
	// Until is the step of the series that removes it with its test, as it mends more in another way.
	Until string `yaml:"until"`
	// Edits are for declarations as upstream has them: once a step replaces or wraps one, that mends the defect.
	Edits []Edit `yaml:"edits"`

	files []txtar.File
}

// ReadFixes reads a repository's fixes for a version of upstream, or all if it is empty.
func ReadFixes(root, version string) ([]Fix, error) {
	names, err := fs.Glob(os.DirFS(root), Fixes+"/*.txtar")
	if err != nil {
		return nil, err
	}
	var fixes []Fix
	for _, name := range names {
		data, err := fs.ReadFile(os.DirFS(root), name)
		if err != nil {
			return nil, err
		}
		archive := txtar.Parse(data)
		fix := Fix{files: archive.Files, Step: Step{Name: strings.TrimSuffix(path.Base(name), ".txtar"), from: name}}
		if err := decodeStrictly(name, archive.Comment, &fix); err != nil {
			return nil, err
		}
		var ps problem.List
		versions, err := syntax.ParseBaseRange(strings.Fields(fix.Base))
		if err != nil {
			ps.Add(name, 0, "write for which versions it is, as //fork:base does", "base: %v", err)
		}
		if fix.complete(&ps); ps.OrNil() != nil {
			return nil, ps
		}
		for _, file := range fix.Files {
			data, err := fs.ReadFile(os.DirFS(root), file)
			if err != nil {
				return nil, err
			}
			fix.files = append(fix.files, txtar.File{Name: file, Data: data})
		}
		if version == "" || versions.Holds(version) {
			fixes = append(fixes, fix)
		}
	}
	return fixes, nil
}

// addTo adds the fix's files to an overlay.
func (f Fix) addTo(o *plan.Overlay, version string, ps *problem.List) {
	for _, file := range f.files {
		if read := o.ReadFile(file.Name, file.Data, version, ps); read != nil {
			o.Files = append(o.Files, read)
		}
	}
}

// edit makes the fix's edits in a tree.
func (f Fix) edit(p *plan.Plan, tree filetree.Tree) error {
	for _, edit := range f.Edits {
		if slices.ContainsFunc(p.Touches, func(t plan.Touch) bool { return t.Key.String() == edit.In && t.How != syntax.Extend }) {
			continue
		}
		if err := edit.apply(tree); err != nil {
			return fmt.Errorf("%s: %w", f.File(), err)
		}
	}
	return nil
}

// Patch returns the fix as git format-patch writes it.
func (f Fix) Patch(ctx context.Context, run command.RunFunc, author, ticket string, m *upstream.Module) (Patch, error) {
	before := assemble.Pristine(m)
	_, after, err := lay(m, &plan.Overlay{}, f)
	if err != nil {
		return Patch{}, err
	}
	p := Patch{Name: f.Name + ".patch", Changed: filetree.Changed(before, after)}
	g, done, err := git.New(ctx, run, author)
	if err != nil {
		return Patch{}, err
	}
	defer done()
	g.Commit(changedBy([]Patch{p}, before), m.String())
	g.Commit(changedBy([]Patch{p}, after), f.message(ticket, m.Version))
	p.Data = g.Run(formatPatch("-1", "--stdout")...)
	return p, g.Err
}

// Lines says how many lines a patch adds and removes, those of tests apart.
func (p Patch) Lines() string {
	var lines [2]struct{ added, removed int }
	kind := 0
	for line := range strings.Lines(string(p.Data)) {
		switch {
		case strings.HasPrefix(line, "diff --git "):
			kind = 0
			if strings.HasSuffix(line, "_test.go\n") {
				kind = 1
			}
		case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "---\n"):
		case strings.HasPrefix(line, "+"):
			lines[kind].added++
		case strings.HasPrefix(line, "-"):
			lines[kind].removed++
		}
	}
	return fmt.Sprintf("+%d -%d, tests +%d -%d", lines[0].added, lines[0].removed, lines[1].added, lines[1].removed)
}

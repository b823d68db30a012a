package fork

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"

	"mongofork/tools/fork/drift"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/git"
	"mongofork/tools/fork/output"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
)

// StateFunc says what the commit of folders of a working copy is, and whether it has a tag.
type StateFunc func(ctx context.Context, root, tag string, folders []string) (git.State, error)

// Fork returns the fork as it is handed to applications, with its name, as far as the overlay has one, and notices. What is released for
// good has the level that the overlay names, everything else that is not tagged as released the commit in its name.
func (p *Project) Fork(ctx context.Context, final bool) (f output.Fork, err error) {
	matched, tree, err := p.Assemble(ctx)
	if err != nil {
		return f, err
	}
	folders, err := plan.ReadFolders(p.Root)
	if err != nil {
		return f, err
	}
	folders = append(folders, "etc/overlay", "etc/module", "contrib", "tools/fork/assemble")
	return output.NewFork(p.Root, matched, tree, func(tag string) (s git.State, err error) {
		if p.State != nil {
			s, err = p.State(ctx, p.Root, tag, folders)
		}
		s.Tagged = s.Tagged || final || p.State == nil
		return s, err
	})
}

// Editable returns the fork's tree for people who work on it: the overlay's files by the path of those that are the same, and in each
// of the others, which lack directives or what is upstream's place, where it comes from. No line moves.
func (p *Project) Editable(f output.Fork) (tree filetree.Tree, same map[string]string) {
	tree, same = maps.Clone(f.Tree), map[string]string{}
	for _, file := range f.Plan.Overlay.Files {
		data, ok := tree[file.Path]
		source, err := os.ReadFile(p.file(file.From))
		switch {
		case !ok: // all of it is in upstream's files
		case err == nil && bytes.Equal(data, source):
			same[file.Path] = p.file(file.From)
		case file.Source != nil:
			clause := []byte("\npackage " + file.Source.AST.Name.Name + "\n")
			note := fmt.Sprintf("%s // made from %s: edit that file, then run \"make fork\"\n", bytes.TrimSpace(clause),
				file.From)
			whole := append([]byte("\n"), data...) // the clause may come first
			tree[file.Path] = bytes.Replace(whole, clause, []byte("\n"+note), 1)[1:]
		}
	}
	return tree, same
}

// Release makes the fork and the adapters modules that a GOPROXY can serve. If final is not empty, it is the version that is to be released
// for good.
func (p *Project) Release(ctx context.Context, final string) (*output.Release, error) {
	f, err := p.Fork(ctx, final != "")
	if err != nil {
		return nil, err
	}
	if version := f.Module().Version; final != "" && final != version {
		return nil, problem.List{{File: output.PatchLevelFile, Message: fmt.Sprintf("the fork calls itself %s, not %s", version, final),
			Mend: "change the constant Fork"}}
	}
	return output.NewRelease(p.Root, f, final != "")
}

// Publish writes a release to a folder of its own. If it is for good, nothing else is ever released under its name.
func (p *Project) Publish(r *output.Release, out output.Folder) error {
	have, err := filetree.Read(out.Dir)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case len(have) > 0 && len(filetree.Changed(have, r.Files)) > 0:
		return problem.List{{File: out.Label, Message: "the folder holds something else", Mend: "choose another folder with -o"}}
	}
	if err := r.Files.Write(out.Dir); err != nil || r.Record == nil {
		return err
	}
	return filetree.Replace(p.file(output.ReleasedFile), r.Record)
}

// Drift compares what the overlay for the project's base touches and uses of upstream's with another version, and tries the overlay
// that is for that one.
func (p *Project) Drift(ctx context.Context, version string) (*drift.Report, error) {
	lock, err := p.ReadLock()
	if err != nil {
		return nil, err
	}
	matched, problems, err := p.match(ctx, lock)
	if err := errors.Join(err, problems.OrNil()); err != nil {
		return nil, err
	}
	target, err := p.Source(ctx, matched.Module.Path, version)
	if err != nil {
		return nil, err
	}
	overlay, problems, err := plan.ReadOverlay(p.Root, version)
	if err != nil {
		return nil, err
	}
	report, err := drift.Compare(ctx, matched, target, overlay)
	if err != nil {
		return nil, err
	}
	report.Misfits = append(report.Misfits, problems...)
	return report, nil
}

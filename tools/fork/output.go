package fork

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/git"
	"mongofork/tools/fork/output"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
)

// StateFunc says what the commit of folders of a working copy is, and which tags it has.
type StateFunc func(ctx context.Context, root string, folders []string) (git.State, error)

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
	if p.State == nil {
		return output.NewFork(p.Root, matched, tree, git.State{}, true)
	}
	state, refused := p.State(ctx, p.Root, append(folders, "etc/overlay", "etc/module", "contrib", "tools/fork/assemble"))
	f, err = output.NewFork(p.Root, matched, tree, state, final)
	f.Nameless = refused
	return f, err
}

// Build writes the fork to the folder build/<base>, for applications and for people who work on it.
func (p *Project) Build(ctx context.Context) (f output.Fork, out output.Folder, changed bool, err error) {
	if f, err = p.Fork(ctx, false); err != nil {
		return f, out, false, err
	}
	out = output.Below(p.Root, p.Base)
	f.Tree, out.Links = f.Editable(p.Root)
	changed, err = out.Write(f.Tree)
	return f, out, changed, err
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
func (p *Project) Publish(r *output.Release, dir string) error {
	have, err := filetree.Read(dir)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case len(have) > 0 && len(filetree.Changed(have, r.Files)) > 0:
		return problem.List{{File: dir, Message: "the folder holds something else", Mend: "choose another folder with -o"}}
	}
	if err := r.Files.Write(dir); err != nil || r.Record == nil {
		return err
	}
	return filetree.Replace(p.file(output.ReleasedFile), r.Record)
}

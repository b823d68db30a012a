package fork

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/module"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/git"
	"mongofork/tools/fork/plan"
)

// PatchLevelFile is the file of the overlay with a constant for the patch level of the next release, such as fork.1. So the level in
// handshakes and logs is the one that is released.
const PatchLevelFile = "version/fork.go"

var patchLevel = regexp.MustCompile(`(?m)^const Fork = "(([^"]+)\.([0-9]+))"$`)

// descriptions is the folder of files that describe the fork, such as its README. They replace upstream's. UPSTREAM and VERSION in them
// stand for the base and the fork's version.
const descriptions = "etc/module"

// Fork is the module that applications get: a base with the overlay.
type Fork struct {
	Plan *plan.Plan
	// Level is the patch level, as in version.Fork; empty if the overlay does not name one.
	Level string
	// Tree is the module.
	Tree filetree.Tree
	// Time is that of the commit that it was made from.
	Time time.Time
	// Nameless is the error of git if it refuses to say which commit that is.
	Nameless error
}

// Module returns the fork's version: the base, a hyphen, and the patch level. Upstream never releases such a pre-release of the base, so no
// go.sum file knows the version with other content.
func (f Fork) Module() module.Version {
	return module.Version{Path: f.Plan.Module.Path, Version: f.Plan.Module.Version + "-" + f.Level}
}

// Released returns the fork's version as that of a release, unless it has no name of its own.
func (f Fork) Released() (module.Version, error) {
	if f.Level == "" {
		return module.Version{}, errors.New(PatchLevelFile + " does not name the patch level by a constant Fork such as fork.1")
	}
	return f.Module(), f.Nameless
}

// Fork returns the fork as applications get it. It contains its patch level, files that describe it, and a notice in each of upstream's
// files that was changed. If final is set, or the commit is tagged, the level is the one that the overlay names; otherwise it also names
// the commit.
func (p *Project) Fork(ctx context.Context, final bool) (f Fork, err error) {
	matched, tree, err := p.Assemble(ctx)
	if err != nil {
		return f, err
	}
	layers, err := plan.ReadLayers(p.Root)
	if err != nil {
		return f, err
	}
	f = Fork{Plan: matched, Tree: assemble.Noticed(matched.Module.Tree, tree)}
	var state git.State
	if p.State != nil {
		names := []string{"etc/overlay", descriptions, "contrib", "tools/fork/assemble"}
		for _, layer := range layers {
			names = append(names, layer.Folders...)
		}
		state, f.Nameless = p.State(ctx, p.Root, names)
	}
	f.Time = state.Time
	file := f.Tree[PatchLevelFile]
	if found := patchLevel.FindSubmatch(file); found != nil {
		f.Level = string(found[1])
		if p.State != nil && !final && !slices.Contains(state.Tags, f.Module().Version) {
			f.Level = untagged(string(found[2]), string(found[3]), state)
		}
		f.Tree[PatchLevelFile] = patchLevel.ReplaceAll(file, fmt.Appendf(nil, "const Fork = %q", f.Level))
	}
	texts, err := filetree.Read(p.file(descriptions))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	names := strings.NewReplacer("UPSTREAM", matched.Module.String(), "VERSION", f.Module().Version)
	for name, text := range texts {
		f.Tree[name] = []byte(names.Replace(string(text)))
	}
	return f, nil
}

// untagged returns the patch level of a commit without a tag: the level before it and the commit. As a version, this sorts below the next
// release, and not below the last one.
func untagged(name, number string, s git.State) string {
	next, _ := strconv.Atoi(number) // only digits
	level := fmt.Sprintf("%s.%d.", name, max(next-1, 0))
	switch {
	case s.Commit == "":
		return level + "unknown"
	case s.Edited:
		return level + "g" + s.Commit + ".edited"
	}
	return level + "g" + s.Commit // a letter first: only digits would be a number, which must not begin with 0
}

// Build writes the fork to the folder build/<base>, for applications and for people who work on it.
func (p *Project) Build(ctx context.Context) (f Fork, out Folder, changed bool, err error) {
	if f, err = p.Fork(ctx, false); err != nil {
		return f, out, false, err
	}
	out = p.Folder(p.Base)
	f.Tree, out.Links = p.editable(f)
	changed, err = out.Write(f.Tree)
	return f, out, changed, err
}

// editable returns the fork's tree for developers: the overlay's files that are identical in the fork, by path, and every other file with a
// comment that names the file to edit. No line moves.
func (p *Project) editable(f Fork) (tree filetree.Tree, same map[string]string) {
	tree, same = maps.Clone(f.Tree), map[string]string{}
	for _, file := range f.Plan.Overlay.Files() {
		data, ok := tree[file.Path]
		source, err := os.ReadFile(p.file(file.From))
		switch {
		case !ok: // all of it is in upstream's files
		case err == nil && bytes.Equal(data, source):
			same[file.Path] = p.file(file.From)
		case file.Source != nil:
			clause := "\npackage " + file.Source.AST.Name.Name
			note := clause + " // made from " + file.From + ": edit that file, then run \"make fork\""
			whole := "\n" + string(data) // the clause may come first
			tree[file.Path] = []byte(strings.Replace(whole, clause+"\n", note+"\n", 1)[1:])
		}
	}
	return tree, same
}

// Package fork lays the Go files of a repository over a module in the module cache: it checks what the files assert about
// that module, and the module against a lock, assembles the result, and writes it as a module, a patch or a release.
//
// It is the front of the packages below it. Each of these imports only those before it: problem, filetree, git, syntax, upstream, plan,
// assemble, layer, drift, series.
package fork

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/git"
	"mongofork/tools/fork/layer"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/upstream"
)

// Project is a repository that holds an overlay.
type Project struct {
	Root         string          // the repository's directory
	Module, Base string          // the path of upstream's module, and the version of it to build on
	Source       upstream.Source // provides upstream's modules
	// State says what the commit of folders of a working copy is; without it everything counts as released.
	State func(ctx context.Context, root string, folders []string) (git.State, error)
}

func (p *Project) LockFile() string { return lockFile(p.Base) }

func lockFile(version string) string { return path.Join("etc/bases", version, "fork.lock") }

func (p *Project) file(name string) string { return filepath.Join(p.Root, filepath.FromSlash(name)) }

// Bases returns the versions of upstream that have a lock, in ascending order.
func (p *Project) Bases() ([]string, error) {
	locks, err := filepath.Glob(p.file(lockFile("v*")))
	if err == nil && len(locks) == 0 {
		err = fmt.Errorf("%s: no base has a lock (mongofork accept makes one)", lockFile("*"))
	}
	var bases []string
	for _, lock := range locks {
		bases = append(bases, filepath.Base(filepath.Dir(lock)))
	}
	semver.Sort(bases)
	return bases, err
}

func (p *Project) On(base string) *Project {
	other := *p
	other.Base = base
	return &other
}

// Assemble reads the overlay, matches it with the base, and lays it over that, in memory. The error is a problem.List if an assertion
// failed, the lock's included.
func (p *Project) Assemble(ctx context.Context) (*plan.Plan, filetree.Tree, error) {
	_, err := os.Stat(p.file(p.LockFile()))
	if errors.Is(err, fs.ErrNotExist) {
		mend := "go run ./tools/cmd/mongofork accept --base " + p.Base
		if bases, err := p.Bases(); err == nil {
			mend = "name one of " + strings.Join(bases, ", ") + " with BASE or --base, or " + mend
		}
		err = problem.One(p.LockFile(), mend, "there is no base %s", p.Base)
	}
	if err != nil {
		return nil, nil, err
	}
	matched, tree, _, err := p.match(ctx)
	return matched, tree, err
}

// match obtains the base, compares it with its lock, if it has one, and lays the overlay over it, in memory. It returns what the lock has
// to say. If the error is a problem.List, the plan has what matched.
func (p *Project) match(ctx context.Context) (matched *plan.Plan, tree filetree.Tree, lock string, err error) {
	m, err := p.Source(ctx, p.Module, p.Base)
	if err != nil {
		return nil, nil, "", err
	}
	bases, _ := p.Bases() // none before the first is accepted
	o, readErr := plan.ReadOverlay(p.Root, m, bases...)
	matched, tree, err = layer.Lay(m, o)
	sum, sumErr := m.Sum()
	lock = fmt.Sprintf("%s %s\n", m, sum)
	var problems problem.List
	if had, err := os.ReadFile(p.file(p.LockFile())); err == nil && string(had) != lock {
		problems.Add(p.LockFile(), 0, "go clean -modcache, or restore the file from version control, then run the command again",
			"it has %q, but the module cache has %s", strings.TrimSpace(string(had)), strings.TrimSpace(lock))
	}
	return matched, tree, lock, problem.Join(readErr, err, sumErr, problems)
}

// Accept makes a version of upstream a base, if the overlay fits it: it writes the lock, a line as in go.sum, so that nobody builds on
// other files of that version. It returns the fork, which may not compile.
func (p *Project) Accept(ctx context.Context) (filetree.Tree, error) {
	if semver.Canonical(p.Base) != p.Base { // it names a folder, and a module to download
		return nil, fmt.Errorf("base %q is not a version such as v2.5.0", p.Base)
	}
	_, tree, lock, err := p.match(ctx)
	if err == nil {
		err = filetree.Replace(p.file(p.LockFile()), []byte(lock))
	}
	return tree, err
}

// PatchLevelFile is the file of the overlay with a constant for the patch level of the next release, such as fork.1. So the level in
// handshakes and logs is the one that is released.
const PatchLevelFile = "version/fork.go"

var patchLevel = regexp.MustCompile(`(?m)^const Fork = "(([^"]+)\.([0-9]+))"$`)

// descriptions is the folder of files that describe the fork, such as its README. They replace upstream's. UPSTREAM and VERSION in them
// stand for the base and the fork's version.
const descriptions = "etc/module"

// Fork is the module that applications get: a base with the overlay.
type Fork struct {
	Plan     *plan.Plan
	Level    string        // the patch level, as in version.Fork; empty if the overlay does not name one
	Tree     filetree.Tree // the module
	Time     time.Time     // that of the commit that it was made from
	Nameless error         // the error of git if it refuses to say which commit that is
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
	layers, layersErr := plan.ReadLayers(p.Root)
	if err := errors.Join(err, layersErr); err != nil {
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
	if s.Commit == "" {
		return level + "unknown"
	}
	level += "g" + s.Commit // a letter first: only digits would be a number, which must not begin with 0
	return level + map[bool]string{true: ".edited"}[s.Edited]
}

// Build writes the fork to the folder build/<base>, for applications and for people who work on it.
func (p *Project) Build(ctx context.Context) (f Fork, out Folder, changed bool, err error) {
	if f, err = p.Fork(ctx, false); err != nil {
		return f, out, false, err
	}
	out = p.Folder(p.Base)
	f.Tree = editable(f)
	changed, err = out.Write(f.Tree)
	return f, out, changed, err
}

// editable returns the fork's tree for developers: each file of the overlay has a comment that names the file to edit. No line moves.
func editable(f Fork) filetree.Tree {
	tree := maps.Clone(f.Tree)
	for _, file := range f.Plan.Overlay.Files() {
		if data, ok := tree[file.Path]; ok && file.Source != nil { // else all of it is in upstream's files
			clause := "\npackage " + file.Source.AST.Name.Name
			note := clause + " // made from " + file.From + ": edit that file, then run \"make fork\""
			whole := "\n" + string(data) // the clause may come first
			tree[file.Path] = []byte(strings.Replace(whole, clause+"\n", note+"\n", 1)[1:])
		}
	}
	return tree
}

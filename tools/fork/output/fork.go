package output

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/module"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/git"
	"mongofork/tools/fork/plan"
)

// PatchLevelFile is the file of the overlay with a constant that names the patch level of the next release, such as fork.1. What is
// compiled into the fork, and reported in handshakes and logs, is also what it is released as.
const PatchLevelFile = "version/fork.go"

var patchLevel = regexp.MustCompile(`(?m)^const Fork = "(([^"]+)\.([0-9]+))"$`)

// ErrUnnamed says that an overlay has no patch level, so that its fork cannot be released.
var ErrUnnamed = errors.New(PatchLevelFile + " does not name the patch level by a constant Fork such as fork.1")

// descriptions is the folder of the files that say in the module what it is, in place of what upstream says of its own. UPSTREAM and
// VERSION in them are the base and the fork's version.
const descriptions = "etc/module"

// Fork is what an overlay makes of a base, as it is handed to applications.
type Fork struct {
	Plan *plan.Plan
	// Level is how the fork calls itself; empty if the overlay does not say.
	Level string
	// Tree is the module.
	Tree filetree.Tree
	// Time is that of the commit that it was made from.
	Time time.Time
}

// Module returns the fork's version: the base, a hyphen, and the level. As a pre-release of the base it cannot become upstream's own,
// which go.sum files know with other content.
func (f Fork) Module() module.Version {
	return module.Version{Path: f.Plan.Module.Path, Version: f.Plan.Module.Version + "-" + f.Level}
}

// NewFork names what was assembled of the overlay in root, says in it what it is, and in each of upstream's files that it was changed.
// State tells what the working copy's repository says of a tag.
func NewFork(root string, p *plan.Plan, tree filetree.Tree, state func(tag string) (git.State, error)) (f Fork, err error) {
	f = Fork{Plan: p, Tree: assemble.Noticed(p.Module.Tree, tree)}
	file := f.Tree[PatchLevelFile]
	if err := f.name(patchLevel.FindSubmatch(file), state); err != nil {
		return f, err
	}
	if f.Level != "" {
		f.Tree[PatchLevelFile] = patchLevel.ReplaceAll(file, fmt.Appendf(nil, "const Fork = %q", f.Level))
	}
	texts, err := filetree.Read(filepath.Join(root, filepath.FromSlash(descriptions)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	names := strings.NewReplacer("UPSTREAM", p.Module.String(), "VERSION", f.Module().Version)
	for name, text := range texts {
		f.Tree[name] = []byte(names.Replace(string(text)))
	}
	return f, nil
}

// name finds how the fork calls itself. The commit with the release's tag has the level that the overlay names. What leads there is named
// by its commit, after the level before: as a version it is lower than the release, and not lower than the last one.
func (f *Fork) name(found [][]byte, state func(tag string) (git.State, error)) error {
	if found == nil {
		return nil
	}
	f.Level = string(found[1])
	s, err := state(f.Module().Version)
	if f.Time = s.Time; err != nil || s.Tagged {
		return err
	}
	next, err := strconv.Atoi(string(found[3]))
	f.Level = fmt.Sprintf("%s.%d.", found[2], max(next-1, 0))
	switch {
	case s.Commit == "":
		f.Level += "unknown"
	case s.Edited:
		f.Level += "g" + s.Commit + ".edited"
	default:
		f.Level += "g" + s.Commit // a letter first: only digits would be a number, which must not begin with 0
	}
	return err
}

package output

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/git"
	"mongofork/tools/fork/plan"
)

// patchLevelFile is the file of the overlay with a constant that names the patch level of the next release, such as fork.1. What is
// compiled into the fork, and reported in handshakes and logs, is also what it is released as.
const patchLevelFile = "version/fork.go"

var patchLevel = regexp.MustCompile(`(?m)^const Fork = "(([^"]+)\.([0-9]+))"$`)

// ErrUnnamed says that an overlay has no patch level.
var ErrUnnamed = errors.New(patchLevelFile + " does not name the patch level by a constant Fork such as fork.1")

// Fork is what an overlay makes of a base.
type Fork struct {
	Plan *plan.Plan
	// Level is how the fork calls itself; empty if the overlay does not say.
	Level string
	// Tree is the module.
	Tree filetree.Tree
	// Time is that of the commit that it was made from.
	Time time.Time
}

// Version returns the fork's version: the base, a hyphen, and the level. As a pre-release of the base it cannot become upstream's own,
// which go.sum files know with other content.
func (f Fork) Version() string { return Version(f.Plan.Module.Version, f.Level) }

// Version returns the version of the fork of a base that calls itself by a level.
func Version(base, level string) string { return base + "-" + level }

// Level returns how a plan's fork calls itself. The commit with the release's tag has the level that the overlay names. What leads
// there is named by its commit, after the level before: as a version it is lower than the release, and not lower than the last one.
func Level(p *plan.Plan, state func(tag string) (git.State, error)) (string, git.State, error) {
	for _, f := range p.Overlay.Files {
		found := patchLevel.FindStringSubmatch(string(f.Data))
		if f.Path != patchLevelFile || found == nil {
			continue
		}
		s, err := state(Version(p.Module.Version, found[1]))
		if err != nil || s.Tagged {
			return found[1], s, err
		}
		next, err := strconv.Atoi(found[3])
		level := fmt.Sprintf("%s.%d.", found[2], max(next-1, 0))
		switch {
		case s.Commit == "":
			level += "unknown"
		case s.Edited:
			level += "g" + s.Commit + ".edited"
		default:
			level += "g" + s.Commit // a letter first: only digits would be a number, which must not begin with 0
		}
		return level, s, err
	}
	return "", git.State{}, ErrUnnamed
}

// Named returns the tree of a fork that calls itself by a level.
func Named(tree filetree.Tree, level string) filetree.Tree {
	if file, ok := tree[patchLevelFile]; ok && level != "" {
		tree[patchLevelFile] = patchLevel.ReplaceAll(file, fmt.Appendf(nil, "const Fork = %q", level))
	}
	return tree
}

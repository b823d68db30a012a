// Package git makes git repositories of the builder's own, in which patches come about and are tried.
package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"mongofork/tools/command"
	"mongofork/tools/fork/filetree"
)

// Builder is the author of commits that have no other.
const Builder = "mongofork <mongofork@localhost>"

// environment keeps the user's configuration out.
var environment = []string{
	"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
	"GIT_DIR=.git", "GIT_WORK_TREE=.", "GIT_INDEX_FILE=.git/index",
	"GIT_COMMITTER_NAME=mongofork", "GIT_COMMITTER_EMAIL=mongofork@localhost",
	"LC_ALL=C", "TZ=UTC",
}

// Repository is a repository of the builder's own.
type Repository struct {
	Dir string // its folder
	Err error  // the first error; after it no command runs

	ctx          context.Context
	author, date string        // of all commits
	tree         filetree.Tree // of the last commit
}

// New makes an empty repository in a temporary folder, which done removes. The author of its commits has the form "Name <address>".
func New(ctx context.Context, author string, at time.Time) (g *Repository, done func()) {
	dir, err := os.MkdirTemp("", "mongofork-patch-")
	g = &Repository{ctx: ctx, Dir: dir, Err: err, author: author, date: fmt.Sprintf("@%d +0000", max(0, at.Unix()))}
	g.Run("init", "--quiet")
	return g, func() { os.RemoveAll(dir) }
}

// Run runs a git command without any configuration of the user's.
func (g *Repository) Run(args ...string) (out []byte) {
	if g.Err == nil {
		args = append([]string{"-c", "core.autocrlf=false", "-c", "core.safecrlf=false", "-c", "gc.auto=0"}, args...)
		out, g.Err = command.Output(g.ctx, g.Dir, environment, "git", args...)
	}
	return out
}

// Commit makes the tree the content of the repository and commits it.
func (g *Repository) Commit(t filetree.Tree, message string) {
	for _, name := range filetree.Changed(g.tree, t) {
		if g.Err == nil {
			g.Err = t.Put(g.Dir, name)
		}
	}
	g.tree = t
	g.Run("add", "--all", "--force", ".")
	g.Run("commit", "--quiet", "--no-verify", "--author", g.author, "--date", g.date, "--message", message)
}

// State is what a working copy's repository says of some of its folders.
type State struct {
	Commit string    // the last commit that changed them, abbreviated; empty if there is no repository
	Time   time.Time // that of the commit that is checked out
	Edited bool      // whether they have changes since
	Tags   []string  // on the commit that is checked out. There are none if a file of that is edited.
}

// StateOf returns the state of folders in the working copy at root. It is empty if root is not a repository. If git refuses to answer, that
// is an error.
func StateOf(ctx context.Context, root string, folders []string) (s State, err error) {
	git := func(args ...string) (said string) {
		if err == nil {
			var out []byte
			out, err = command.Output(ctx, root, []string{"LC_ALL=C", "GIT_OPTIONAL_LOCKS=0"}, "git", args...)
			said = strings.TrimSpace(string(out))
		}
		return said
	}
	prefix, commit := git("rev-parse", "--show-prefix"), git(append([]string{"log", "-1", "--format=%H", "--"}, folders...)...)
	switch {
	case errors.Is(err, exec.ErrNotFound) || err != nil && nothing.MatchString(err.Error()):
		return s, nil
	case err != nil || prefix != "" || commit == "":
		return s, err // this folder is just somewhere in a repository, or no commit has these yet
	}
	seconds, _ := strconv.ParseInt(git("show", "--no-patch", "--format=%ct", "HEAD"), 10, 64)
	edits := git(append([]string{"status", "--porcelain", "--"}, folders...)...)
	s = State{Commit: commit[:12], Time: time.Unix(seconds, 0).UTC(), Edited: edits != ""}
	if tags := git("tag", "--points-at", "HEAD"); !s.Edited && git("status", "--porcelain", "--untracked-files=no") == "" {
		s.Tags = strings.Fields(tags)
	}
	return s, err
}

// nothing is what git says of a folder that is in no repository, and of a repository without commits.
var nothing = regexp.MustCompile(`not a git repository|does not have any commits yet`)

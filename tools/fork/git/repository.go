// Package git makes git repositories of the builder's own, in which patches come about and are tried.
package git

import (
	"context"
	"fmt"
	"os"
	"strings"

	"mongofork/tools/command"
	"mongofork/tools/fork/filetree"
)

// date is the date of every patch: the same sources give the same bytes.
const date = "2000-01-01T00:00:00Z"

// Builder is the author of commits that have no other.
const Builder = "mongofork <mongofork@localhost>"

// Repository is a repository of the builder's own; after the first error it does
// nothing more.
type Repository struct {
	// Dir is its folder.
	Dir string
	// Name and Address are those of the author of the commits.
	Name, Address string
	// Err is the first error; after it no command runs.
	Err error

	ctx context.Context
}

// New makes an empty repository in a temporary folder, which done removes. The author has the form "Name <address>".
func New(ctx context.Context, author string) (g *Repository, done func(), err error) {
	name, address, ok := strings.Cut(strings.TrimSuffix(author, ">"), " <")
	if !ok {
		return nil, nil, fmt.Errorf("author %q: want 'Name <address>'", author)
	}
	dir, err := os.MkdirTemp("", "mongofork-patch-")
	if err != nil {
		return nil, nil, err
	}
	g = &Repository{ctx: ctx, Dir: dir, Name: name, Address: address}
	done = func() { os.RemoveAll(dir) }
	if g.Run("init", "--quiet"); g.Err != nil {
		done()
		return nil, nil, g.Err
	}
	return g, done, nil
}

// Run runs a git command without any configuration of the user's.
func (g *Repository) Run(args ...string) []byte {
	if g.Err != nil {
		return nil
	}
	env := []string{
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_DIR=.git", "GIT_WORK_TREE=.", "GIT_INDEX_FILE=.git/index",
		"GIT_AUTHOR_NAME=" + g.Name, "GIT_AUTHOR_EMAIL=" + g.Address, "GIT_AUTHOR_DATE=" + date,
		"GIT_COMMITTER_NAME=" + g.Name, "GIT_COMMITTER_EMAIL=" + g.Address, "GIT_COMMITTER_DATE=" + date,
		"LC_ALL=C", "TZ=UTC",
	}
	args = append([]string{"-c", "core.autocrlf=false", "-c", "core.safecrlf=false", "-c", "gc.auto=0"}, args...)
	out, err := command.Output(g.ctx, g.Dir, env, "git", args...)
	g.Err = err
	return out
}

// Commit makes the tree the content of the repository and commits it.
func (g *Repository) Commit(t filetree.Tree, message string) {
	g.Run("rm", "-r", "--force", "--quiet", "--ignore-unmatch", ".")
	if g.Err == nil {
		g.Err = t.Write(g.Dir)
	}
	g.Run("add", "--all", "--force", ".")
	g.Run("commit", "--quiet", "--no-verify", "--message", message)
}

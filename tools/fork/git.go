package fork

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// RunFunc runs a command in dir with env added to the environment and
// returns its standard output.
type RunFunc func(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error)

// patchDate is the date of every patch: the same sources give the same bytes.
const patchDate = "2000-01-01T00:00:00Z"

// gitRepo is a repository of the builder's own; after the first error it does
// nothing more.
type gitRepo struct {
	ctx           context.Context
	dir           string
	run           RunFunc
	name, address string
	err           error
}

// newGitRepo makes an empty repository in a temporary folder, which done removes. The author has the form "Name <address>".
func newGitRepo(ctx context.Context, run RunFunc, author string) (g *gitRepo, done func(), err error) {
	name, address, ok := strings.Cut(strings.TrimSuffix(author, ">"), " <")
	if !ok {
		return nil, nil, fmt.Errorf("author %q: want 'Name <address>'", author)
	}
	dir, err := os.MkdirTemp("", "mongofork-patch-")
	if err != nil {
		return nil, nil, err
	}
	g = gitRepoIn(ctx, run, dir, name, address)
	g.git("init", "--quiet")
	return g, func() { os.RemoveAll(dir) }, g.err
}

// gitRepoIn returns the repository in a folder. Name and address are those of its commits' author.
func gitRepoIn(ctx context.Context, run RunFunc, dir, name, address string) *gitRepo {
	return &gitRepo{ctx: ctx, dir: dir, run: run, name: name, address: address}
}

// git runs a git command without any configuration of the user's.
func (g *gitRepo) git(args ...string) []byte {
	if g.err != nil {
		return nil
	}
	env := []string{
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_DIR=.git", "GIT_WORK_TREE=.", "GIT_INDEX_FILE=.git/index",
		"GIT_AUTHOR_NAME=" + g.name, "GIT_AUTHOR_EMAIL=" + g.address, "GIT_AUTHOR_DATE=" + patchDate,
		"GIT_COMMITTER_NAME=" + g.name, "GIT_COMMITTER_EMAIL=" + g.address, "GIT_COMMITTER_DATE=" + patchDate,
		"LC_ALL=C", "TZ=UTC",
	}
	args = append([]string{"-c", "core.autocrlf=false", "-c", "core.safecrlf=false", "-c", "gc.auto=0"}, args...)
	out, err := g.run(g.ctx, g.dir, env, "git", args...)
	g.err = err
	return out
}

// commit makes the tree the content of the repository and commits it.
func (g *gitRepo) commit(t Tree, message string) {
	g.git("rm", "-r", "--quiet", "--ignore-unmatch", ".")
	if g.err == nil {
		g.err = t.write(g.dir)
	}
	g.git("add", "--all", "--force", ".")
	g.git("commit", "--quiet", "--no-verify", "--message", message)
}

// commitChanges commits what differs between the tree that the repository holds and another.
func (g *gitRepo) commitChanges(before, after Tree, message string) {
	changed := Tree{}
	for _, change := range Compare(before, after) {
		if data, ok := after[change.Path]; ok {
			changed[change.Path] = data
		} else {
			g.git("rm", "--quiet", change.Path)
		}
	}
	if g.err == nil {
		g.err = changed.write(g.dir)
	}
	g.git("add", "--all", "--force", ".")
	g.git("commit", "--quiet", "--no-verify", "--message", message)
}

// giveUp restores the tree after a patch that could not be applied.
func (g *gitRepo) giveUp() {
	g.err = nil
	g.git("am", "--abort")
}

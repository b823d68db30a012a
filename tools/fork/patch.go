package fork

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// patchDate is the date of every patch: the same sources give the same bytes.
const patchDate = "2000-01-01T00:00:00Z"

// PatchOptions describes the commit that a patch holds.
type PatchOptions struct {
	// Subject is the first line of the message.
	Subject string
	// Author has the form "Name <address>".
	Author string
}

// Patch returns the overlay as one commit on top of the upstream module, in
// the format of git format-patch.
func (p *Project) Patch(ctx context.Context, run RunFunc, opt PatchOptions) ([]byte, error) {
	plan, err := p.Plan(ctx)
	if err != nil {
		return nil, err
	}
	a, err := AssembleInPlace(plan)
	if err != nil {
		return nil, err
	}
	before := Pristine(plan.Module).Tree
	if len(Compare(before, a.Tree)) == 0 {
		return nil, errors.New("the overlay changes nothing, so there is no patch to write")
	}
	if opt.Subject == "" {
		return nil, errors.New("the patch has no subject: give --subject a line of text")
	}
	g, done, err := newGitRepo(ctx, run, opt.Author)
	if err != nil {
		return nil, err
	}
	defer done()
	g.commit(before, plan.Module.String())
	g.commit(licensed(before, a.Tree), opt.Subject+"\n\n"+plan.message())
	text := g.git("format-patch", "-1", "--stdout", "--no-signature", "--zero-commit", "--no-numbered",
		"--full-index", "--no-renames", "--stat-width=100")
	return text, g.err
}

// message lists what the patch touches, as the body of its commit message.
func (p *Plan) message() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "On %s: %s.\n", p.Module, p.Counts())
	for _, t := range p.Touches {
		fmt.Fprintf(&b, "\n- %s %s: %s", t.How, t.Key, t.Reason)
	}
	for _, r := range p.Removed {
		fmt.Fprintf(&b, "\n- %s %s: %s", Remove, r.Key, r.Reason)
	}
	return b.String()
}

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
	g = &gitRepo{ctx: ctx, dir: dir, run: run, name: name, address: address}
	g.git("init", "--quiet")
	return g, func() { os.RemoveAll(dir) }, g.err
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

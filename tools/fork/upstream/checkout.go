package upstream

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"

	"mongofork/tools/command"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/git"
	"mongofork/tools/fork/problem"
)

// Checkout is the commit that is checked out in a git work tree, as a source: it stands for every version that is asked for. The
// work tree and its repository are only read.
type Checkout struct {
	// Dir is the top folder of the work tree.
	Dir string
	// Commit is the hash of the commit, and Date its day.
	Commit, Date string
	// Uncommitted counts the files with changes that are not committed. They are left out.
	Uncommitted int
	// Releases provides the released versions.
	Releases Source

	run     command.RunFunc
	gitDir  string
	objects string // where the repository stores its objects
}

// OpenCheckout finds the commit that is checked out in a folder. The error is a problem.List if the folder is not the top of a git work
// tree.
func OpenCheckout(ctx context.Context, run command.RunFunc, dir string, releases Source) (*Checkout, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	c := &Checkout{Dir: abs, Releases: releases, run: run, gitDir: filepath.Join(abs, ".git")}
	if err := c.exists(dir); err != nil {
		return nil, err
	}
	head, err := c.git(ctx, "log", "-1", "--format=%H %cs", "HEAD")
	if err != nil {
		return nil, c.problem("git -C "+dir+" checkout BRANCH", "no commit is checked out (%v)", err)
	}
	c.Commit, c.Date, _ = strings.Cut(head, " ")
	return c, c.lookAround(ctx)
}

// lookAround finds the repository's objects and counts what is not committed.
func (c *Checkout) lookAround(ctx context.Context) error {
	folders, err := c.git(ctx, "rev-parse", "--absolute-git-dir", "--git-common-dir")
	if err != nil {
		return err
	}
	own, common, _ := strings.Cut(folders, "\n")
	if c.gitDir = own; !filepath.IsAbs(common) {
		common = filepath.Join(c.Dir, common)
	}
	c.objects = filepath.Join(common, "objects")
	changed, err := c.git(ctx, "status", "--porcelain", "--no-renames")
	if changed != "" {
		c.Uncommitted = strings.Count(changed, "\n") + 1
	}
	return err
}

// exists checks that the folder is the top of a work tree.
func (c *Checkout) exists(dir string) error {
	if info, err := os.Stat(c.Dir); err != nil || !info.IsDir() {
		return c.problem("git clone REPOSITORY "+dir+", with the address of upstream's repository", "there is no such folder")
	}
	if _, err := os.Stat(filepath.Join(c.Dir, ".git")); err != nil {
		return c.problem("name the top folder of a clone of upstream's repository; git clone --shared "+dir+" FOLDER makes one of a bare repository",
			"the folder is not the top of a git work tree")
	}
	return nil
}

// problem is one about the checkout.
func (c *Checkout) problem(mend, format string, args ...any) error {
	var ps problem.List
	ps.Add(filepath.ToSlash(c.Dir), 0, mend, format, args...)
	return ps
}

// git runs a command that changes nothing, for this work tree whatever the environment says.
func (c *Checkout) git(ctx context.Context, args ...string) (string, error) {
	env := []string{"GIT_DIR=" + c.gitDir, "GIT_WORK_TREE=" + c.Dir, "GIT_INDEX_FILE=" + filepath.Join(c.gitDir, "index"), "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C", "TZ=UTC"}
	out, err := c.run(ctx, c.Dir, env, "git", args...)
	return strings.TrimRight(string(out), "\r\n"), err
}

// Versions lists the released versions.
func (c *Checkout) Versions(ctx context.Context, path string) ([]string, error) {
	return c.Releases.Versions(ctx, path)
}

// Module reads the commit. Symbolic links and submodules are left out, as module zips leave them out.
func (c *Checkout) Module(ctx context.Context, path, version string) (*Module, error) {
	tree, err := c.tree(ctx)
	if err != nil {
		return nil, fmt.Errorf("commit %s of %s cannot be read: %w", c.short(), c.Dir, err)
	}
	if tree["go.mod"] == nil {
		return nil, c.problem("name a clone of upstream's repository", "commit %s has no go.mod", c.short())
	}
	if declared := modfile.ModulePath(tree["go.mod"]); declared != path {
		return nil, c.problem("git -C "+c.Dir+" checkout BRANCH, with a branch of this module", "commit %s is of the module %s, not of %s", c.short(), declared, path)
	}
	return &Module{Path: path, Version: version, Checkout: c, Tree: tree}, nil
}

// short returns enough of the commit's hash to name it.
func (c *Checkout) short() string { return c.Commit[:min(len(c.Commit), 12)] }

// String names the commit.
func (c *Checkout) String() string { return "commit " + c.short() + " of " + c.Date }

// plainFiles are attributes that make git write files as they are stored, and all of them.
const plainFiles = "* -text -ident -filter !working-tree-encoding -export-ignore -export-subst\n"

// tree reads the commit's files through a repository of our own, which has its own attributes and shares the objects.
func (c *Checkout) tree(ctx context.Context) (filetree.Tree, error) {
	g, done, err := git.New(ctx, c.run, git.Builder)
	if err != nil {
		return nil, err
	}
	defer done()
	own := filetree.Tree{"info/attributes": []byte(plainFiles), "objects/info/alternates": []byte(filepath.ToSlash(c.objects) + "\n")}
	if err := own.Write(filepath.Join(g.Dir, ".git")); err != nil {
		return nil, err
	}
	archive := g.Run("archive", "--format=tar", c.Commit)
	if g.Err != nil {
		return nil, g.Err
	}
	return untar(archive)
}

// untar returns the regular files of an archive.
func untar(archive []byte) (filetree.Tree, error) {
	t := filetree.Tree{}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return nil, err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if t[h.Name], err = io.ReadAll(r); err != nil {
			return nil, err
		}
	}
}

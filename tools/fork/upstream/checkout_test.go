package upstream_test

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"mongofork/tools/command"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/forktest"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/upstream"
)

// What is read is the commit, byte for byte, whatever git would make of it when it is checked out or exported, and however git is
// called. Nothing of the work tree or its repository changes.
func TestCheckoutReadsTheCommit(t *testing.T) {
	t.Parallel()
	files := maps.Clone(forktest.Versions(t)[forktest.Base])
	files[".gitattributes"] = []byte("*.txt text eol=crlf\nhidden.go export-ignore\nid.go ident export-subst\n")
	files["lines.txt"], files["hidden.go"] = []byte("one\ntwo\n"), []byte("package driver\n")
	files["id.go"] = []byte("package driver // $Id$ $Format:%H$\n")
	dir := forktest.WorkTree(t, files)
	require.NoError(t, os.Symlink("go.mod", filepath.Join(dir, "link")))
	require.NoError(t, os.Chmod(filepath.Join(dir, "README.md"), 0o755))
	forktest.Commit(t, dir)
	require.Zero(t, forktest.OpenCheckout(t, dir).Uncommitted)

	linked := filepath.Join(filepath.Dir(dir), "linked")
	_, err := command.Output(t.Context(), dir, nil, "git", "worktree", "add", "--quiet", linked)
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(dir, "pool", "names.go")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module wrong\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "new.go"), []byte("package new\n"), 0o644))
	before := state(t, dir)

	astray := func(ctx context.Context, at string, env []string, name string, args ...string) ([]byte, error) {
		return command.Output(ctx, at, append([]string{"GIT_DIR=/nowhere", "GIT_INDEX_FILE=/nowhere", "GIT_WORK_TREE=/nowhere"}, env...), name, args...)
	}
	for _, at := range []string{dir, linked} {
		for _, run := range []command.RunFunc{command.Output, astray} {
			c, err := upstream.OpenCheckout(t.Context(), run, at, forktest.Versions(t))
			require.NoError(t, err)
			require.Equal(t, map[string]int{dir: 3, linked: 0}[at], c.Uncommitted)
			m, err := c.Module(t.Context(), forktest.Module, forktest.Base)
			require.NoError(t, err)
			require.Empty(t, filetree.Compare(files, m.Tree))
		}
	}
	require.Equal(t, before, state(t, dir))
	versions, err := forktest.OpenCheckout(t, linked).Versions(t.Context(), forktest.Module)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{forktest.Base, "v2.1.0"}, versions, "those of the releases")
}

// state returns the content and the time of each file below a folder.
func state(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(name)
		files[name] = info.ModTime().Format(time.RFC3339Nano) + string(data)
		return err
	}))
	return files
}

// What cannot be a source is refused with what to do, in the words of the command line.
func TestCheckoutRefused(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	good := forktest.WorkTree(t, forktest.Versions(t)[forktest.Base])
	require.NoError(t, os.WriteFile(filepath.Join(root, "file"), nil, 0o644))
	require.NoError(t, os.Mkdir(filepath.Join(root, "plain"), 0o755))
	forktest.Git(t, root, "clone", "--quiet", "--bare", good, filepath.Join(root, "bare"))
	require.NoError(t, os.Mkdir(filepath.Join(root, "empty"), 0o755))
	forktest.Git(t, filepath.Join(root, "empty"), "init", "--quiet")
	for _, tt := range []struct {
		name, dir string
		files     filetree.Tree // of a commit
		want      []string
	}{
		{name: "absent", dir: filepath.Join(root, "none"), want: []string{": there is no such folder", "fix: git clone REPOSITORY " + filepath.Join(root, "none")}},
		{name: "a file", dir: filepath.Join(root, "file"), want: []string{": there is no such folder"}},
		{name: "no repository", dir: filepath.Join(root, "plain"), want: []string{": the folder is not the top of a git work tree", "fix: name the top folder of a clone"}},
		{name: "below the top", dir: filepath.Join(good, "pool"), want: []string{": the folder is not the top of a git work tree"}},
		{name: "bare", dir: filepath.Join(root, "bare"), want: []string{": the folder is not the top of a git work tree", "git clone --shared " + filepath.Join(root, "bare") + " FOLDER"}},
		{name: "no commit", dir: filepath.Join(root, "empty"), want: []string{": no commit is checked out (", "fix: git -C " + filepath.Join(root, "empty") + " checkout BRANCH"}},
		{name: "no module", files: filetree.Tree{"README.md": nil}, want: []string{" has no go.mod", "fix: name a clone of upstream's repository"}},
		{name: "another module", files: filetree.Tree{"go.mod": []byte("module example.com/driver\n")},
			want: []string{" is of the module example.com/driver, not of example.com/driver/v2", " checkout BRANCH, with a branch of this module"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := tt.dir
			if tt.files != nil {
				dir = forktest.WorkTree(t, tt.files)
			}
			c, err := upstream.OpenCheckout(t.Context(), command.Output, dir, forktest.Versions(t))
			if tt.files != nil {
				require.NoError(t, err)
				_, err = c.Module(t.Context(), forktest.Module, forktest.Base)
			}
			require.ErrorAs(t, err, &problem.List{})
			for _, want := range tt.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

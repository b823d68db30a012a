package fork

import (
	"bytes"
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"mongofork/tools/command"
	"mongofork/tools/fork/drift"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/git"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/upstream"
)

// workTree makes a git work tree with the given files, all committed.
func workTree(t testing.TB, files filetree.Tree) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "driver")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, files.Write(dir))
	gitIn(t, dir, "init", "--quiet")
	commitIn(t, dir)
	return dir
}

func gitIn(t testing.TB, dir string, args ...string) string {
	t.Helper()
	g := git.At(t.Context(), runCommand, dir, "A Tester", "tester@localhost")
	out := g.Run(args...)
	require.NoError(t, g.Err)
	return string(out)
}

func commitIn(t testing.TB, dir string) {
	t.Helper()
	gitIn(t, dir, "add", "--all", "--force", ".")
	gitIn(t, dir, "commit", "--quiet", "--allow-empty", "--message", "a commit")
}

func openCheckout(t testing.TB, dir string) *upstream.Checkout {
	t.Helper()
	c, err := upstream.OpenCheckout(t.Context(), runCommand, dir, driverVersions(t))
	require.NoError(t, err)
	return c
}

// onCheckout returns the project with a work tree as its source.
func onCheckout(t testing.TB, p *Project, dir string) *Project {
	t.Helper()
	return &Project{Root: p.Root, Base: p.Base, Source: openCheckout(t, dir)}
}

// A commit with the files of the release gives what the release gives: the plan, the fork and each patch of the series. What only a
// checkout has, here a nested module, stays as it is.
func TestCheckoutOfTheRelease(t *testing.T) {
	t.Parallel()
	p := builtProject(t, seriesOverlay())
	files := maps.Clone(driverVersions(t)[testBase])
	files["tool/go.mod"], files["tool/main.go"] = []byte("module tool\n"), []byte("package main\n")
	dir := workTree(t, files)
	commit := onCheckout(t, p, dir)

	_, released, err := p.Assemble(t.Context())
	require.NoError(t, err)
	plan, built, err := commit.Assemble(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"tool/go.mod", "tool/main.go"}, changedPaths(filetree.Compare(released.Tree, built.Tree)))
	require.Equal(t, "example.com/driver/v2 commit "+gitIn(t, dir, "rev-parse", "HEAD")[:12]+" of 2000-01-01 in the place of v2.0.0", plan.Module.String())

	want, _ := seriesOf(t, p)
	patches, _ := seriesOf(t, commit)
	require.Equal(t, want, patches)
	for _, patch := range patches[1:] {
		file := filepath.Join(t.TempDir(), patch.Name)
		require.NoError(t, os.WriteFile(file, patch.Data, 0o644))
		gitIn(t, dir, "am", "--quiet", file)
	}

	rows, err := p.Drift(t.Context(), openCheckout(t, workTree(t, files)), testBase)
	require.NoError(t, err)
	require.NotEmpty(t, rows)
	for _, row := range rows {
		require.Equal(t, drift.Same, row.Class, row.Subject)
	}
}

// What is read is the commit, byte for byte, whatever git would make of it when it is checked out or exported, and however git is
// called. Nothing of the work tree or its repository changes.
func TestCheckoutReadsTheCommit(t *testing.T) {
	t.Parallel()
	files := maps.Clone(driverVersions(t)[testBase])
	files[".gitattributes"] = []byte("*.txt text eol=crlf\nhidden.go export-ignore\nid.go ident export-subst\n")
	files["lines.txt"], files["hidden.go"] = []byte("one\ntwo\n"), []byte("package driver\n")
	files["id.go"] = []byte("package driver // $Id$ $Format:%H$\n")
	dir := workTree(t, files)
	require.NoError(t, os.Symlink("go.mod", filepath.Join(dir, "link")))
	require.NoError(t, os.Chmod(filepath.Join(dir, "README.md"), 0o755))
	commitIn(t, dir)
	require.Zero(t, openCheckout(t, dir).Uncommitted)

	linked := filepath.Join(filepath.Dir(dir), "linked")
	_, err := runCommand(t.Context(), dir, nil, "git", "worktree", "add", "--quiet", linked)
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(dir, "pool", "names.go")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module wrong\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "new.go"), []byte("package new\n"), 0o644))
	before := state(t, dir)

	astray := func(ctx context.Context, at string, env []string, name string, args ...string) ([]byte, error) {
		return runCommand(ctx, at, append([]string{"GIT_DIR=/nowhere", "GIT_INDEX_FILE=/nowhere", "GIT_WORK_TREE=/nowhere"}, env...), name, args...)
	}
	for _, at := range []string{dir, linked} {
		for _, run := range []command.RunFunc{runCommand, astray} {
			c, err := upstream.OpenCheckout(t.Context(), run, at, driverVersions(t))
			require.NoError(t, err)
			require.Equal(t, map[string]int{dir: 3, linked: 0}[at], c.Uncommitted)
			m, err := c.Module(t.Context(), testModule, testBase)
			require.NoError(t, err)
			require.Empty(t, filetree.Compare(files, m.Tree))
		}
	}
	require.Equal(t, before, state(t, dir))
	versions, err := openCheckout(t, linked).Versions(t.Context(), testModule)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{testBase, "v2.1.0"}, versions, "those of the releases")
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
	good := workTree(t, driverVersions(t)[testBase])
	require.NoError(t, os.WriteFile(filepath.Join(root, "file"), nil, 0o644))
	require.NoError(t, os.Mkdir(filepath.Join(root, "plain"), 0o755))
	gitIn(t, root, "clone", "--quiet", "--bare", good, filepath.Join(root, "bare"))
	require.NoError(t, os.Mkdir(filepath.Join(root, "empty"), 0o755))
	gitIn(t, filepath.Join(root, "empty"), "init", "--quiet")
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
				dir = workTree(t, tt.files)
			}
			c, err := upstream.OpenCheckout(t.Context(), runCommand, dir, driverVersions(t))
			if tt.files != nil {
				require.NoError(t, err)
				_, err = c.Module(t.Context(), testModule, testBase)
			}
			require.ErrorAs(t, err, &problem.List{})
			for _, want := range tt.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

// What a commit has changed under the overlay is reported whole, with the step of the series that it belongs to; nothing is made of
// such a commit.
func TestCheckoutThatDoesNotFit(t *testing.T) {
	t.Parallel()
	overlay := seriesOverlay()
	overlay["pool/open.go"] = []byte(`package pool

//fork:wrap its signature changes
func Open(cfg Config) *Pool { return upstreamOpen(cfg) }

//fork:watch taken Pool.Put
//fork:replace it goes away
var single = 4

// backoff comes.
func backoff() {}
`)
	overlay["etc/series/2-calls.yaml"] = stepFile("Count calls", "files: [pool/get.go, pool/open.go]\ndeclarations: [pool shout]\nfragments:\n  - file: pool/policy.go\n    lines: |2\n      \tname = strings.ToUpper(name)\n")
	overlay["etc/series/series.yaml"] = []byte("title: Limits\nletter: Dear all,\nleft:\n  - {files: [pool/own.go], reason: it is ours}\nwrapped: {pool Pool.Get: lend, pool Open: makePool}\n")
	overlay["etc/series/1-limit.yaml"] = stepFile("Have a limit", "files: [pool/policy.go]\ndeclarations: [pool backoff]\n")
	p := builtProject(t, overlay)
	dir := workTree(t, driverVersions(t)["v2.1.0"])
	commit := onCheckout(t, p, dir)

	rows, err := p.Drift(t.Context(), commit.Source, testBase)
	require.NoError(t, err)
	var got []string
	for _, r := range rows {
		got = append(got, string(r.Class)+" "+r.Subject+" "+r.Ours+" "+r.Step)
	}
	slices.Sort(got)
	require.Equal(t, []string{
		"body pool Pool.Get pool/get.go:8 2-calls",
		"collides pool backoff pool/open.go:11 1-limit",
		"comment pool Pool.Put pool/open.go:6 2-calls",
		"gone pool single pool/open.go:8 2-calls",
		"gone pool taken pool/open.go:6 2-calls",
		"signature pool Open pool/open.go:4 2-calls",
	}, got)

	_, _, err = commit.Assemble(t.Context())
	require.ErrorAs(t, err, &problem.List{})
	short := "commit " + gitIn(t, dir, "rev-parse", "HEAD")[:12] + " of 2000-01-01"
	lines := strings.Split(err.Error(), "\n")
	for i := range lines {
		lines[i] = strings.ReplaceAll(fingerprintStart.ReplaceAllString(lines[i], "…"), dir, "DIR")
	}
	const mend = "  fix: go run ./tools/cmd/mongofork --base v2.0.0 --source DIR drift -v shows the change; adapt ours"
	require.Equal(t, []string{
		"pool/get.go:7: //fork:wrap Pool.Get: upstream's declaration changed since the lock (" + short + " … -> …, pool/pool.go:19) [2-calls]", mend,
		"pool/open.go:3: //fork:wrap Open: ours is func(Config) (*Pool), upstream's is func(Config, ...int) (*Pool) (pool/pool.go:30) [2-calls]", "  fix: give ours upstream's signature",
		"pool/open.go:3: //fork:wrap Open: upstream's declaration changed since the lock (" + short + " … -> …, pool/pool.go:30) [2-calls]", mend,
		"pool/open.go:6: //fork:watch taken: upstream " + short + " has no such declaration in pool [2-calls]", "  fix: upstream has that name in conn",
		"pool/open.go:7: //fork:replace single: upstream " + short + " has no such declaration in pool [2-calls]", "  fix: remove the directive if the declaration is new",
		"pool/open.go:11: backoff is new here, but upstream has it (pool/pool.go:32) [1-limit]", "  fix: rename it, or add //fork:replace or //fork:wrap with a reason",
	}, lines)
	for name, make := range map[string]func() error{
		"series": func() error { _, _, err := commit.SeriesPatches(t.Context(), runCommand, seriesAuthor); return err },
		"patch": func() error {
			_, err := commit.Patch(t.Context(), runCommand, PatchOptions{Subject: "s", Author: seriesAuthor})
			return err
		},
	} {
		require.ErrorContains(t, make(), "[2-calls]", name)
	}
}

// The lock of a release is not about commits. A base with a pre-release version is, and its cures name the work tree.
func TestBaseOfACheckout(t *testing.T) {
	t.Parallel()
	p := builtProject(t, overlayOf("//fork:wrap counts\nfunc retryable(err error) bool { return upstreamRetryable(err) }\n"))
	dir := workTree(t, driverVersions(t)["v2.1.0"])
	commit := onCheckout(t, p, dir)
	require.NoError(t, p.RefuseAccept())
	require.EqualError(t, commit.RefuseAccept(), "the lock of v2.0.0 is about the released files: leave --source out, or name a base for commits, such as --base v2.0.0-0.main")

	require.NoError(t, os.Remove(filepath.Join(dir, "pool", "overlay.go")))
	commitIn(t, dir)
	commit = onCheckout(t, p, dir)
	commit.Base = "v2.1.0-0.main"
	require.NoError(t, commit.RefuseAccept())
	_, err := commit.NewLock(t.Context(), NewLockOptions{Module: testModule, From: testBase})
	require.NoError(t, err)
	_, _, err = commit.Assemble(t.Context())
	require.NoError(t, err, "what it wraps only moved")

	more := filepath.Join(dir, "pool", "more.go")
	data, err := os.ReadFile(more)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(more, bytes.ReplaceAll(data, []byte("false"), []byte("true")), 0o644))
	commitIn(t, dir)
	next := onCheckout(t, p, dir)
	next.Base = commit.Base
	_, _, err = next.Assemble(t.Context())
	require.ErrorContains(t, err, "fix: go run ./tools/cmd/mongofork --base v2.1.0-0.main --source "+dir+" diff --upstream 'pool retryable', "+
		"then go run ./tools/cmd/mongofork --base v2.1.0-0.main --source "+dir+" accept 'pool retryable'")
	_, err = next.Accept(t.Context(), AcceptOptions{All: true})
	require.NoError(t, err)
	_, _, err = next.Assemble(t.Context())
	require.NoError(t, err)
}

// Each patch is tried as git am does, then with a merge; one that conflicts is left out and named with its files.
func TestTryPatches(t *testing.T) {
	t.Parallel()
	p := builtProject(t, seriesOverlay())
	patches, _ := seriesOf(t, p)
	before := driverVersions(t)[testBase]
	edited := func(edits ...string) filetree.Tree {
		text := string(before["pool/pool.go"])
		for i := 0; i < len(edits); i += 2 {
			require.Contains(t, text, edits[i])
			text = strings.Replace(text, edits[i], edits[i+1], 1)
		}
		after := maps.Clone(before)
		after["pool/pool.go"] = []byte(text)
		return after
	}
	taken := maps.Clone(before)
	taken["pool/policy.go"] = []byte("package pool\n")
	for _, tt := range []struct {
		name string
		tree filetree.Tree
		want []TriedPatch
	}{
		{"as it was", before, []TriedPatch{{Result: Applies}, {Result: Applies}}},
		{"elsewhere", edited("func taken() {}", "func other() {}"), []TriedPatch{{Result: Applies}, {Result: Applies}}},
		{"close by", edited("\tused int\n", "\tused int // now\n"), []TriedPatch{{Result: Applies}, {Result: Merges}}},
		{"the same lines", edited("Get(ctx context.Context, name string) (int", "Get(ctx context.Context, name string, n int) (int"),
			[]TriedPatch{{Result: Applies}, {Result: Conflicts, Conflicts: []string{"pool/pool.go"}}}},
		{"a file of the first", taken, []TriedPatch{{Result: Conflicts, Conflicts: []string{"pool/policy.go"}}, {Result: Conflicts, Conflicts: []string{"pool/policy.go"}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tried, err := TryPatches(t.Context(), runCommand, before, tt.tree, patches)
			require.NoError(t, err)
			for i := range tt.want {
				tt.want[i].Name, tt.want[i].Step = patches[i+1].Name, patches[i+1].Step
			}
			require.Equal(t, tt.want, tried)
		})
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	_, err := TryPatches(stopped, runCommand, before, before, patches)
	require.ErrorIs(t, err, context.Canceled)
}

var fingerprintStart = regexp.MustCompile(`sha256:[0-9a-f]+…`)

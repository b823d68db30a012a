package fork

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/command"
	"mongofork/tools/fork/drift"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/forktest"
	"mongofork/tools/fork/output"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/series"
)

// onCheckout returns the project with a work tree as its source.
func onCheckout(t testing.TB, p *Project, dir string) *Project {
	t.Helper()
	return &Project{Root: p.Root, Base: p.Base, Source: forktest.OpenCheckout(t, dir)}
}

// A commit with the files of the release gives what the release gives: the plan, the fork and each patch of the series. What only a
// checkout has, here a nested module, stays as it is.
func TestCheckoutOfTheRelease(t *testing.T) {
	t.Parallel()
	p := builtProject(t, forktest.SeriesOverlay())
	files := maps.Clone(forktest.Versions(t)[forktest.Base])
	files["tool/go.mod"], files["tool/main.go"] = []byte("module tool\n"), []byte("package main\n")
	dir := forktest.WorkTree(t, files)
	commit := onCheckout(t, p, dir)

	_, released, err := p.Assemble(t.Context())
	require.NoError(t, err)
	plan, built, err := commit.Assemble(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"tool/go.mod", "tool/main.go"}, filetree.ChangedPaths(filetree.Compare(released.Tree, built.Tree)))
	require.Equal(t, "example.com/driver/v2 commit "+forktest.Git(t, dir, "rev-parse", "HEAD")[:12]+" of 2000-01-01 in the place of v2.0.0", plan.Module.String())

	want, _ := seriesOf(t, p)
	patches, _ := seriesOf(t, commit)
	require.Equal(t, want, patches)
	for _, patch := range patches[1:] {
		file := filepath.Join(t.TempDir(), patch.Name)
		require.NoError(t, os.WriteFile(file, patch.Data, 0o644))
		forktest.Git(t, dir, "am", "--quiet", file)
	}

	rows, err := p.Drift(t.Context(), forktest.OpenCheckout(t, forktest.WorkTree(t, files)), forktest.Base)
	require.NoError(t, err)
	require.NotEmpty(t, rows)
	for _, row := range rows {
		require.Equal(t, drift.Same, row.Class, row.Subject)
	}
}

// What a commit has changed under the overlay is reported whole, with the step of the series that it belongs to; nothing is made of
// such a commit.
func TestCheckoutThatDoesNotFit(t *testing.T) {
	t.Parallel()
	overlay := forktest.SeriesOverlay()
	overlay["pool/open.go"] = []byte(`package pool

//fork:wrap its signature changes
func Open(cfg Config) *Pool { return upstreamOpen(cfg) }

//fork:watch taken Pool.Put
//fork:replace it goes away
var single = 4

// backoff comes.
func backoff() {}
`)
	overlay["etc/series/2-calls.yaml"] = forktest.StepFile("Count calls", "files: [pool/get.go, pool/open.go]\ndeclarations: [pool shout]\nfragments:\n  - file: pool/policy.go\n    lines: |2\n      \tname = strings.ToUpper(name)\n")
	overlay["etc/series/series.yaml"] = []byte("title: Limits\nletter: Dear all,\nleft:\n  - {files: [pool/own.go], reason: it is ours}\nwrapped: {pool Pool.Get: lend, pool Open: makePool}\n")
	overlay["etc/series/1-limit.yaml"] = forktest.StepFile("Have a limit", "files: [pool/policy.go]\ndeclarations: [pool backoff]\n")
	p := builtProject(t, overlay)
	dir := forktest.WorkTree(t, forktest.Versions(t)["v2.1.0"])
	commit := onCheckout(t, p, dir)

	rows, err := p.Drift(t.Context(), commit.Source, forktest.Base)
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
	short := "commit " + forktest.Git(t, dir, "rev-parse", "HEAD")[:12] + " of 2000-01-01"
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
		"series": func() error { _, _, err := commit.SeriesPatches(t.Context(), command.Output, seriesAuthor); return err },
		"patch": func() error {
			_, err := commit.Patch(t.Context(), command.Output, output.PatchOptions{Subject: "s", Author: seriesAuthor})
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
	dir := forktest.WorkTree(t, forktest.Versions(t)["v2.1.0"])
	commit := onCheckout(t, p, dir)
	require.NoError(t, p.RefuseAccept())
	require.EqualError(t, commit.RefuseAccept(), "the lock of v2.0.0 is about the released files: leave --source out, or name a base for commits, such as --base v2.0.0-0.main")

	require.NoError(t, os.Remove(filepath.Join(dir, "pool", "overlay.go")))
	forktest.Commit(t, dir)
	commit = onCheckout(t, p, dir)
	commit.Base = "v2.1.0-0.main"
	require.NoError(t, commit.RefuseAccept())
	_, err := commit.NewLock(t.Context(), NewLockOptions{Module: forktest.Module, From: forktest.Base})
	require.NoError(t, err)
	_, _, err = commit.Assemble(t.Context())
	require.NoError(t, err, "what it wraps only moved")

	more := filepath.Join(dir, "pool", "more.go")
	data, err := os.ReadFile(more)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(more, bytes.ReplaceAll(data, []byte("false"), []byte("true")), 0o644))
	forktest.Commit(t, dir)
	next := onCheckout(t, p, dir)
	next.Base = commit.Base
	_, _, err = next.Assemble(t.Context())
	require.ErrorContains(t, err, "fix: go run ./tools/cmd/mongofork --base v2.1.0-0.main --source "+dir+" diff 'pool retryable', "+
		"then go run ./tools/cmd/mongofork --base v2.1.0-0.main --source "+dir+" accept 'pool retryable'")
	_, err = next.Accept(t.Context(), AcceptOptions{All: true})
	require.NoError(t, err)
	_, _, err = next.Assemble(t.Context())
	require.NoError(t, err)
}

var fingerprintStart = regexp.MustCompile(`sha256:[0-9a-f]+…`)

// seriesAuthor is who made the patches.
const seriesAuthor = "A Tester <tester@localhost>"

func seriesOf(t *testing.T, p *Project) ([]series.Patch, filetree.Tree) {
	t.Helper()
	patches, tree, err := p.SeriesPatches(t.Context(), command.Output, seriesAuthor)
	require.NoError(t, err)
	return patches, tree
}

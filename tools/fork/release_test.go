package fork

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/forktest"
	"mongofork/tools/fork/git"
	"mongofork/tools/fork/plan"
)

func forkFile(level string) string { return "package version\n\nconst Fork = \"" + level + "\"\n" }

// releasable adds the patch level to an overlay.
func releasable(level string, files filetree.Tree) filetree.Tree {
	files[plan.FoldersFile], files["version/fork.go"] = []byte("pool\nversion\n"), []byte(forkFile(level))
	return files
}

// Adapters are released with the fork, without what is for work in the repository. Whoever finds the module knows whose it is. What is
// not what is built here, in any byte, is refused.
func TestRelease(t *testing.T) {
	t.Parallel()
	p := builtProject(t, releasable("fork.7", filetree.Tree{
		"pool/overlay.go":                []byte("package pool\n\n//fork:replace why\nfunc taken() { added() }\n\nfunc added() {}\n"),
		"LICENSE":                        []byte("Licence\n"),
		"etc/module/.github/SECURITY.md": []byte("Of VERSION, not of UPSTREAM.\n"), "etc/module/NOTICE": []byte("Ours.\n"),
		"contrib/otel/go.mod": []byte("module example.internal/a\n\ngo 1.25.0\n\nreplace example.com/driver/v2 => " +
			"../../build/v2.0.0\n\nrequire example.com/driver/v2 v2.0.0\n"),
		"contrib/otel/a.go": []byte("package a\n"), "contrib/otel/a_test.go": []byte("package a\n"),
		"contrib/tests/go.mod": []byte("module example.internal/tests\n")}))
	r, err := p.Release(t.Context(), "")
	require.NoError(t, err)
	const fork, adapter = "example.com/driver/v2/@v/v2.0.0-fork.7", "example.internal/a/@v/v0.0.0-fork.7"
	require.Equal(t, []string{"SHA256SUMS", "example.com/driver/v2/@v/list", fork + ".cdx.json", fork + ".info", fork + ".mod",
		fork + ".openvex.json", fork + ".zip", "example.internal/a/@v/list", adapter + ".info", adapter + ".mod", adapter + ".zip", "go.sum"},
		r.Files.Paths())
	require.Equal(t, "module example.internal/a\n\ngo 1.25.0\n\nrequire example.com/driver/v2 v2.0.0\n", string(r.Files[adapter+".mod"]))
	require.Equal(t, "v0.0.0-fork.7\n", string(r.Files["example.internal/a/@v/list"]))
	require.Equal(t, "{\"Version\":\"v2.0.0-fork.7\"}\n", string(r.Files[fork+".info"]))
	require.Equal(t, []string{"LICENSE", "a.go", "go.mod"}, unzip(t, r.Files[adapter+".zip"], "example.internal/a@v0.0.0-fork.7/").Paths())
	module := unzip(t, r.Files[fork+".zip"], "example.com/driver/v2@v2.0.0-fork.7/")
	require.Equal(t, "Of v2.0.0-fork.7, not of example.com/driver/v2 v2.0.0.\n", string(module[".github/SECURITY.md"]))
	require.Equal(t, "Ours.\n", string(module["NOTICE"]))
	for name, data := range module {
		was, theirs := r.Fork.Plan.Module.Tree[name]
		ours := strings.HasPrefix(string(data), "// Part of a fork of the MongoDB Go driver, and not by MongoDB, Inc.\n")
		require.Equal(t, !theirs && strings.HasSuffix(name, ".go"), ours, name)
		changed := strings.Contains(string(data), "// Changed in a fork of the MongoDB Go driver, which is not by MongoDB, Inc.\n")
		require.Equal(t, name == "pool/pool.go", changed, name)
		require.True(t, !theirs || changed || bytes.Equal(was, data), name)
	}
	dir := t.TempDir()
	require.NoError(t, p.Publish(r, dir))
	require.NoError(t, p.Publish(r, dir), "the same again is no change")
	for name, data := range r.Files {
		for _, at := range []int{0, len(data) / 2, len(data) - 1} {
			changed := slices.Clone(data)
			changed[at] ^= 1
			require.NoError(t, filetree.Tree{name: changed}.Write(dir))
			require.ErrorContains(t, p.Publish(r, dir), "the folder holds something else: "+name+" is not what this working copy builds")
		}
		require.NoError(t, os.Remove(filepath.Join(dir, name)))
		require.ErrorContains(t, p.Publish(r, dir), "the folder holds something else: "+name)
		require.NoError(t, r.Files.Write(dir))
	}
	_, err = p.Release(t.Context(), "v2.0.0-fork.3")
	require.ErrorContains(t, err, "the fork calls itself v2.0.0-fork.7, not v2.0.0-fork.3")
}

// Scanners learn what a release is, what it requires, and which vulnerabilities it does not have.
func TestReleaseDocuments(t *testing.T) {
	t.Parallel()
	files := forktest.Archive(t, "release.txtar")
	p := builtProject(t, releasable("fork.2", files))
	p.State = func(context.Context, string, []string) (git.State, error) {
		return git.State{Tags: []string{"v2.0.0-fork.2"}, Time: time.Unix(1700000000, 0).UTC()}, nil
	}
	r, err := p.Release(t.Context(), "")
	require.NoError(t, err)
	const product, at = "pkg:golang/example.com/driver/v2@v2.0.0-fork.2", "example.com/driver/v2/@v/v2.0.0-fork.2."
	require.JSONEq(t, string(files["want.openvex.json"]), string(r.Files[at+"openvex.json"]))
	bill := new(cdx.BOM)
	require.NoError(t, cdx.NewBOMDecoder(bytes.NewReader(r.Files[at+"cdx.json"]), cdx.BOMFileFormatJSON).Decode(bill))
	fork := bill.Metadata.Component
	require.Equal(t, product, fork.PackageURL)
	require.Equal(t, "pkg:golang/example.com/driver/v2@v2.0.0", (*fork.Pedigree.Ancestors)[0].PackageURL)
	sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(strings.Fields(string(r.Files["go.sum"]))[2], "h1:"))
	require.NoError(t, err)
	require.Equal(t, hex.EncodeToString(sum), (*fork.Hashes)[0].Value)
	require.Len(t, *bill.Components, 2)
	for i, want := range []string{"pkg:golang/example.com/meter@v1.2.3", "pkg:golang/example.internal/a@v0.0.0-fork.2"} {
		require.Equal(t, want, (*bill.Components)[i].PackageURL)
		require.Len(t, *(*bill.Components)[i].Hashes, 1, want)
	}
	require.Equal(t, []string{product, "pkg:golang/example.com/meter@v1.2.3"}, *(*bill.Dependencies)[1].Dependencies,
		"an adapter requires the fork")
}

// What is not released says which commit it is, and is a version between the releases.
func TestEveryBuildHasItsName(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		state git.State
		want  string
	}{
		{git.State{Commit: "0123456789ab", Tags: []string{"v1", "v2.0.0-fork.3"}}, "fork.3"},
		{git.State{Commit: "0123456789ab", Tags: []string{"v2.0.0-fork.2"}}, "fork.2.g0123456789ab"},
		{git.State{Commit: "0123456789ab", Edited: true}, "fork.2.g0123456789ab.edited"},
		{git.State{}, "fork.2.unknown"},
	} {
		p := builtProject(t, releasable("fork.3", overlayOf("func added() {}\n")))
		p.State = func(_ context.Context, root string, folders []string) (git.State, error) {
			require.Equal(t, p.Root, root)
			require.Subset(t, folders, []string{"pool", "version"})
			return tc.state, nil
		}
		built, err := p.Fork(t.Context(), false)
		require.NoError(t, err)
		require.Equal(t, "package version\n\nconst Fork = \""+tc.want+"\"\n", string(built.Tree["version/fork.go"]))
		require.NoError(t, module.Check(built.Plan.Module.Path, built.Module().Version))
		require.Positive(t, semver.Compare(built.Module().Version, "v2.0.0-fork.2"))
		require.LessOrEqual(t, semver.Compare(built.Module().Version, "v2.0.0-fork.3"), 0)
		final, err := p.Fork(t.Context(), true)
		require.NoError(t, err)
		require.Equal(t, "fork.3", final.Level)
		p.State = func(context.Context, string, []string) (git.State, error) { return git.State{}, os.ErrPermission }
		_, err = p.Release(t.Context(), "v2.0.0-fork.3")
		require.ErrorIs(t, err, os.ErrPermission, "git refuses to say")
	}
}

// Once a version is released for good, nothing else is released under its name: not on another base, either, for adapters. A release is
// known by its record, and to the commit that makes it.
func TestReleasedVersionNeverChanges(t *testing.T) {
	t.Parallel()
	p := builtProject(t, releasable("fork.2", overlayOf("func added() {}\n")))
	release := func(final string) error {
		r, err := p.Release(t.Context(), final)
		if err != nil {
			return err
		}
		return p.Publish(r, t.TempDir())
	}
	require.NoError(t, release(""))
	require.NoFileExists(t, filepath.Join(p.Root, ReleasedFile), "a trial")
	require.NoError(t, release("v2.0.0-fork.2"))
	first := p.read(t, ReleasedFile)
	require.Regexp(t, "^example.com/driver/v2 v2.0.0-fork.2 h1:.*\nexample.com/driver/v2 v2.0.0-fork.2/go.mod h1:.*\n$", first)
	p.put(t, "pool/overlay.go", "package pool\n\nfunc added() { taken() }\n")
	const here = "v2.0.0-fork.1.g0123456789ab"
	p.State = func(context.Context, string, []string) (git.State, error) {
		return git.State{Commit: "0123456789ab"}, nil
	}
	for version, where := range map[string]string{"v2.0.0-fork.2": ReleasedFile, here: "this working copy"} {
		goSum, from, err := p.Sums(t.Context(), version)
		require.NoError(t, err)
		require.Equal(t, where, from)
		require.Contains(t, goSum, "example.com/driver/v2 "+version+" h1:")
		require.Equal(t, where == ReleasedFile, goSum == first)
	}
	_, _, err := p.Sums(t.Context(), "v2.0.0-fork.1.gba9876543210")
	require.ErrorContains(t, err, "the hash of v2.0.0-fork.1.gba9876543210 is not known here")
	p.State = nil
	p.put(t, "version/fork.go", forkFile("fork.10"))
	require.NoError(t, release("v2.0.0-fork.10"))
	second := p.read(t, ReleasedFile)
	require.Contains(t, second, first)
	require.NoError(t, release("v2.0.0-fork.10"))
	require.Equal(t, second, p.read(t, ReleasedFile), "the same again")
	p.put(t, "version/fork.go", forkFile("fork.2"))
	for _, final := range []string{"", "v2.0.0-fork.2"} {
		require.EqualError(t, release(final),
			"etc/released.sum: example.com/driver/v2 v2.0.0-fork.2 was released with different content\n"+
				"  fix: raise Fork in layers/extras/name/version/fork.go")
	}
	p.put(t, "version/fork.go", forkFile("fork.10"))
	p.put(t, "LICENSE", "Licence\n")
	p.put(t, "contrib/otel/go.mod", "module example.internal/a\n")
	require.NoError(t, release("v2.0.0-fork.10"))
	p.put(t, "contrib/otel/a.go", "package a\n")
	require.ErrorContains(t, release("v2.0.0-fork.10"), ": example.internal/a v0.0.0-fork.10 was released with different content")
}

// unzip returns the files of an archive below a folder.
func unzip(t *testing.T, data []byte, folder string) filetree.Tree {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, archive))
	files, err := filetree.Read(filepath.Join(dir, filepath.FromSlash(folder)))
	require.NoError(t, err)
	return files
}

package fork

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/git"
)

// withSums returns files with a SHA256SUMS that fits them, as an attacker makes it, too.
func withSums(files filetree.Tree) filetree.Tree {
	all, sums := filetree.Tree{}, ""
	for _, name := range files.Paths() {
		if name != sumsFile {
			all[name] = files[name]
			sums += written(name, files[name]) + "\n"
		}
	}
	all[sumsFile] = []byte(sums)
	return all
}

// page returns what the page of a release has.
func page(t *testing.T, files filetree.Tree) filetree.Tree {
	t.Helper()
	var archive bytes.Buffer
	zipped := gzip.NewWriter(&archive)
	w := tar.NewWriter(zipped)
	beside := filetree.Tree{}
	for _, name := range files.Paths() {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: "./" + name, Mode: 0o644, Size: int64(len(files[name]))}))
		_, err := w.Write(files[name])
		require.NoError(t, err)
		if name == "go.sum" || path.Ext(name) == ".json" {
			beside[path.Base(name)] = files[name]
		}
	}
	require.NoError(t, errors.Join(w.Close(), zipped.Close()))
	beside["v2.0.0-fork.2.tar.gz"] = archive.Bytes()
	return withSums(beside)
}

// One changed byte of any file is refused, also by whoever changes SHA256SUMS with it: in the folder that serves as a GOPROXY, in the archive of
// the release's page, and beside it.
func TestVerify(t *testing.T) {
	t.Parallel()
	p := builtProject(t, releasable("fork.2", filetree.Tree{"pool/overlay.go": []byte("package pool\n\nfunc added() {}\n"),
		"LICENSE": []byte("Licence\n"), "contrib/otel/go.mod": []byte("module example.internal/a\n"),
		"contrib/otel/a.go": []byte("package a\n")}))
	r, err := p.Release(t.Context(), "v2.0.0-fork.2")
	require.NoError(t, err)
	require.NoError(t, p.Publish(r, t.TempDir()))
	verify := func(p *Project, files filetree.Tree) (string, error) {
		dir := t.TempDir()
		require.NoError(t, files.Write(dir))
		return p.Verify(t.Context(), dir)
	}
	changed := func(files filetree.Tree, name string, at int) filetree.Tree {
		all := filetree.Tree{}
		for name, data := range files {
			all[name] = slices.Clone(data)
		}
		all[name][at] ^= 1
		return all
	}
	for name, files := range map[string]filetree.Tree{"folder": r.Files, "page": page(t, r.Files)} {
		verified, err := verify(p, files)
		require.NoError(t, err, name)
		require.Equal(t, "example.com/driver/v2 v2.0.0-fork.2: all files are those that this working copy makes; the hashes are those of etc/released.sum", verified)
		for asset := range files {
			for _, at := range []int{0, len(files[asset]) / 2, len(files[asset]) - 1} {
				_, err := verify(p, changed(files, asset, at))
				require.Error(t, err, "%s, byte %d of %s", name, at, asset)
			}
			missing := changed(files, asset, 0)
			delete(missing, asset)
			_, err := verify(p, missing)
			require.Error(t, err, "%s without %s", name, asset)
		}
		more := changed(files, sumsFile, 0)
		more[sumsFile], more["more"] = files[sumsFile], nil
		_, err = verify(p, more)
		require.ErrorContains(t, err, "SHA256SUMS does not name more")
	}
	for asset, data := range r.Files {
		if asset == sumsFile {
			continue
		}
		files := withSums(changed(r.Files, asset, len(data)/2))
		_, err := verify(p, files)
		require.Error(t, err, asset)
		_, err = verify(p, page(t, files))
		require.Error(t, err, "%s in the archive", asset)
	}
	beside := page(t, r.Files)
	_, err = verify(p, withSums(changed(beside, "v2.0.0-fork.2.cdx.json", 10)))
	require.ErrorContains(t, err, "differs from the one beside it")

	// Another commit knows it by ReleasedFile, and no more of the documents than SHA256SUMS says.
	p.State = func(context.Context, string, []string) (git.State, error) {
		return git.State{Commit: "0123456789ab"}, nil
	}
	verified, err := verify(p, r.Files)
	require.NoError(t, err)
	require.Equal(t, "example.com/driver/v2 v2.0.0-fork.2: the modules are those of etc/released.sum; "+
		"the documents beside them are only those of SHA256SUMS", verified)
	for asset, data := range r.Files {
		if path.Ext(asset) == ".zip" || path.Ext(asset) == ".mod" || asset == "go.sum" {
			_, err := verify(p, withSums(changed(r.Files, asset, len(data)/2)))
			require.Error(t, err, asset)
		}
	}

	// What was not released for good is known to the commit that makes it, and to no other.
	r, err = p.Release(t.Context(), "")
	require.NoError(t, err)
	verified, err = verify(p, r.Files)
	require.NoError(t, err)
	require.Contains(t, verified, "v2.0.0-fork.1.g0123456789ab: all files are those that this working copy makes")
	p.State = func(context.Context, string, []string) (git.State, error) {
		return git.State{Commit: "ba9876543210"}, nil
	}
	_, err = verify(p, r.Files)
	require.ErrorContains(t, err, "the hash of v2.0.0-fork.1.g0123456789ab is not known here")
	_, err = verify(p, withSums(filetree.Tree{"go.sum": []byte(strings.Repeat("x", 9))}))
	require.ErrorContains(t, err, "is not a release of example.com/driver/v2")
}

package fork

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/git"
)

// One changed byte of any file is refused, also by whoever changes SHA256SUMS with it.
func TestVerify(t *testing.T) {
	t.Parallel()
	p := builtProject(t, releasable("fork.2", filetree.Tree{"pool/overlay.go": []byte("package pool\n\nfunc added() {}\n"),
		"LICENSE": []byte("Licence\n"), "contrib/otel/go.mod": []byte("module example.internal/a\n"),
		"contrib/otel/a.go": []byte("package a\n")}))
	r, err := p.Release(t.Context(), "v2.0.0-fork.2")
	require.NoError(t, err)
	require.NoError(t, p.Publish(r, t.TempDir()))
	verify := func(files filetree.Tree) (string, error) {
		dir := t.TempDir()
		require.NoError(t, files.Write(dir))
		return p.Verify(t.Context(), dir)
	}
	changed := func(name string, at int) filetree.Tree {
		all := maps.Clone(r.Files)
		all[name] = slices.Clone(all[name])
		all[name][at] ^= 1
		return all
	}
	summed := func(files filetree.Tree) filetree.Tree { // as an attacker does it
		files[sumsFile] = sumsOf(files)
		return files
	}
	verified, err := verify(r.Files)
	require.NoError(t, err)
	require.Equal(t, "example.com/driver/v2 v2.0.0-fork.2: all files are those that this working copy makes; the hashes are those of etc/released.sum", verified)
	for asset, data := range r.Files {
		for _, at := range []int{0, len(data) / 2, len(data) - 1} {
			_, err := verify(changed(asset, at))
			require.Error(t, err, "byte %d of %s", at, asset)
		}
		if asset != sumsFile {
			_, err := verify(summed(changed(asset, len(data)/2)))
			require.Error(t, err, asset)
		}
		missing := maps.Clone(r.Files)
		delete(missing, asset)
		_, err := verify(missing)
		require.Error(t, err, asset)
	}
	more := maps.Clone(r.Files)
	more["more"] = nil
	_, err = verify(more)
	require.ErrorContains(t, err, "SHA256SUMS is not that of the files beside it:")

	// Another commit knows it by ReleasedFile, and no more of the documents than SHA256SUMS says.
	p.State = func(context.Context, string, []string) (git.State, error) {
		return git.State{Commit: "0123456789ab"}, nil
	}
	verified, err = verify(r.Files)
	require.NoError(t, err)
	require.Equal(t, "example.com/driver/v2 v2.0.0-fork.2: the modules are those of etc/released.sum; "+
		"the documents beside them are only those of SHA256SUMS", verified)
	for asset, data := range r.Files {
		if path.Ext(asset) == ".zip" || path.Ext(asset) == ".mod" || asset == "go.sum" {
			_, err := verify(summed(changed(asset, len(data)/2)))
			require.Error(t, err, asset)
		}
	}

	// What was not released for good is known to the commit that makes it, and to no other.
	r, err = p.Release(t.Context(), "")
	require.NoError(t, err)
	verified, err = verify(r.Files)
	require.NoError(t, err)
	require.Contains(t, verified, "v2.0.0-fork.1.g0123456789ab: all files are those that this working copy makes")
	p.State = func(context.Context, string, []string) (git.State, error) {
		return git.State{Commit: "ba9876543210"}, nil
	}
	_, err = verify(r.Files)
	require.ErrorContains(t, err, "the hash of v2.0.0-fork.1.g0123456789ab is not known here")
	_, err = verify(summed(filetree.Tree{"go.sum": []byte(strings.Repeat("x", 9))}))
	require.ErrorContains(t, err, "is not a release of example.com/driver/v2")
}

package series

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/command"
	"mongofork/tools/fork/filetree"
)

// Applied in order, the patches lead to the fork's own tree.
func TestSeriesApplies(t *testing.T) {
	t.Parallel()
	s := planSeries(t, seriesOverlay())
	dir := t.TempDir()
	var out bytes.Buffer
	verified, err := s.Verify(t.Context(), withoutGo(command.Output), Check{Dir: dir, Out: &out})
	require.NoError(t, err)
	require.Equal(t, "each commit passes by itself", verified.String())
	require.Equal(t, 2, strings.Count(out.String(), "packages vetted"), out.String())
	_, tree := patchesOf(t, s)
	for name, data := range tree {
		applied, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		require.NoError(t, err)
		require.Equal(t, string(data), string(applied), name)
	}
}

// withoutGo runs git alone: the made-up module cannot be compiled.
func withoutGo(run command.RunFunc) command.RunFunc {
	return func(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
		if name == "go" {
			return nil, nil
		}
		return run(ctx, dir, env, name, args...)
	}
}

// A commit after which the tree does not compile is named.
func TestSeriesWithABrokenStep(t *testing.T) {
	t.Parallel()
	s := planSeries(t, seriesOverlay())
	broken := func(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
		if name == "go" && args[0] == "vet" {
			return nil, io.ErrUnexpectedEOF
		}
		return withoutGo(command.Output)(ctx, dir, env, name, args...)
	}
	_, err := s.Verify(t.Context(), broken, Check{Dir: t.TempDir(), From: 1, Out: io.Discard})
	require.ErrorContains(t, err, "0001-T-1-Have-a-limit.patch: go vet")
	_, err = s.Verify(t.Context(), broken, Check{Dir: t.TempDir(), From: 3, Out: io.Discard})
	require.NoError(t, err, "patches that are only applied")
}

// What was only applied is not said to stand by itself.
func TestVerifiedFrom(t *testing.T) {
	t.Parallel()
	for from, want := range map[int]string{
		0: "each commit passes by itself",
		1: "each commit passes by itself",
		2: "each commit from number 2 on passes by itself (those before it were only applied)",
		3: "no commit was checked by itself",
		9: "no commit was checked by itself",
	} {
		s := planSeries(t, seriesOverlay())
		verified, err := s.Verify(t.Context(), withoutGo(command.Output), Check{Dir: t.TempDir(), From: from, Out: io.Discard})
		require.NoError(t, err)
		require.Equal(t, want, verified.String(), "from %d of 2", from)
	}
}

// A patch that leaves a file unformatted is refused before anything is compiled.
func TestSeriesUnformatted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, filetree.Tree{"a.go": []byte("package a\n"), "b.go": []byte("package  a\n"), "notes.txt": []byte(" x")}.Write(dir))
	v := &workTree{dir: dir}
	require.NoError(t, v.formatted([]string{"a.go", "notes.txt", "removed.go"}))
	require.EqualError(t, v.formatted([]string{"a.go", "b.go"}), "gofmt: b.go")
}

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
	"mongofork/tools/gotest"
)

// Applied in order, the patches lead to the fork's own tree.
func TestSeriesApplies(t *testing.T) {
	t.Parallel()
	s := planSeries(t, seriesOverlay())
	dir := t.TempDir()
	var out bytes.Buffer
	require.NoError(t, s.Verify(t.Context(), withoutGo(command.Output), Check{Dir: dir, Out: &out, GoTest: passing}))
	require.Equal(t, 2, strings.Count(out.String(), "0 tests passed"), out.String())
	_, tree := patchesOf(t, s)
	for name, data := range tree {
		applied, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		require.NoError(t, err)
		require.Equal(t, string(data), string(applied), name)
	}
}

func passing(context.Context, gotest.Command) (*gotest.Result, error) { return gotest.NewResult(), nil }

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
	err := s.Verify(t.Context(), broken, Check{Dir: t.TempDir(), Out: io.Discard, GoTest: passing})
	require.ErrorContains(t, err, "0001-T-1-Have-a-limit.patch: go vet")
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

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/fork"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/upstream"
)

const madeUp = "v2.5.0"

// fakeSource has one version of a module of two files.
type fakeSource struct{}

func (fakeSource) Module(_ context.Context, path, version string) (*upstream.Module, error) {
	if version != madeUp {
		return nil, fmt.Errorf("there is no %s", version)
	}
	m := &upstream.Module{Path: path, Version: version, Tree: filetree.Tree{
		"go.mod": []byte("module " + path + "\n\ngo 1.19\n"), "p/p.go": []byte("package p\n\ntype T struct{}\n"),
	}}
	var err error
	m.Sum, m.GoModSum, err = m.Sums()
	return m, err
}

func (fakeSource) Versions(context.Context, string) ([]string, error) { return []string{madeUp}, nil }

func TestBuilder(t *testing.T) {
	t.Parallel()
	b := builder{t.TempDir(), fakeSource{}}
	read := func(name string) string {
		content, err := os.ReadFile(filepath.Join(b.root, filepath.FromSlash(name)))
		if err != nil {
			return ""
		}
		return string(content)
	}
	const added, later = "package p\n\nconst Ours = 1\n", "//fork:base >=v2.9.3\n\npackage p\n\nconst Later = 1\n"
	require.NoError(t, filetree.Tree{
		plan.FoldersFile: []byte("p\n"), "p/ours.go": []byte(added), "p/later.go": []byte(later),
		"p/extension.go": []byte("package p\n\n//fork:extend it needs a name\ntype T struct {\n\tname string\n}\n"),
	}.Write(b.root))
	_, err := b.project(madeUp).NewLock(t.Context(), fork.NewLockOptions{Module: "example.com/m"})
	require.NoError(t, err)
	_, err = b.project(madeUp).Accept(t.Context(), fork.AcceptOptions{All: true})
	require.NoError(t, err)

	overlay, err := b.Build(t.Context(), madeUp)
	require.NoError(t, err)
	assert.Equal(t, []string{"p/ours.go"}, overlay, "what is for another base and what only extends is not there")
	assert.Equal(t, added, read("build/v2.5.0/p/ours.go"))
	assert.Contains(t, read("build/v2.5.0/p/p.go"), "name string")
	assert.Equal(t, "package p\n\ntype T struct{}\n", read("build/pristine/v2.5.0/p/p.go"))
	assert.Empty(t, read("build/pristine/v2.5.0/p/ours.go"))
	require.NoError(t, b.Verify(t.Context(), madeUp))

	assert.Empty(t, read("build/fork/p/ours.go"))
	require.NoError(t, b.Link(madeUp))
	assert.Equal(t, added, read("build/fork/p/ours.go"))

	require.NoError(t, os.WriteFile(filepath.Join(b.root, "p", "ours.go"), []byte("package p\n\ntype T int\n"), 0o600))
	_, err = b.Build(t.Context(), madeUp)
	require.ErrorContains(t, err, "build the fork of v2.5.0: p/ours.go:3")
	require.ErrorContains(t, b.Verify(t.Context(), madeUp), "p/ours.go:3")
	assert.Equal(t, added, read("build/v2.5.0/p/ours.go"), "nothing is written")
	_, err = b.Build(t.Context(), "v2.6.0")
	require.ErrorContains(t, err, "v2.6.0")
}

package fork

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLicensed(t *testing.T) {
	t.Parallel()
	upstream := Tree{
		"a/a.go":     []byte("package a\n"),
		"a/b.go":     []byte("// Copyright A.\n// More.\n\npackage a\n"),
		"a/c.go":     []byte("// Copyright B.\n\npackage a\n"),
		"d/gen.go":   []byte("// Copyright\npackage d\n\nvar x int\n"),
		"d/notes.md": []byte("// Copyright C.\n\n"),
	}
	fork := Tree{
		"a/a.go":      upstream["a/a.go"],
		"a/new.go":    []byte("package a\n"),
		"a/new.txt":   []byte("text"),
		"a/in/new.go": []byte("package in\n"),
		"d/new.go":    []byte("package d\n"),
	}
	require.Equal(t, Tree{
		"a/a.go":      []byte("package a\n"),
		"a/new.go":    []byte("// Copyright A.\n// More.\n\npackage a\n"),
		"a/new.txt":   []byte("text"),
		"a/in/new.go": []byte("// Copyright A.\n// More.\n\npackage in\n"),
		"d/new.go":    []byte("// Copyright A.\n// More.\n\npackage d\n"),
	}, licensed(upstream, fork))
	require.Equal(t, Tree{"x.go": []byte("package x\n")}, licensed(Tree{}, Tree{"x.go": []byte("package x\n")}), "upstream has none")
}

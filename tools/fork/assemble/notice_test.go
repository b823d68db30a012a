package assemble

import (
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
)

func TestLicensed(t *testing.T) {
	t.Parallel()
	upstream := filetree.Tree{
		"a/a.go":     []byte("package a\n"),
		"a/b.go":     []byte("// Copyright A.\n// More.\n\npackage a\n"),
		"a/c.go":     []byte("// Copyright B.\n\npackage a\n"),
		"d/gen.go":   []byte("// Copyright\npackage d\n\nvar x int\n"),
		"d/notes.md": []byte("// Copyright C.\n\n"),
	}
	fork := filetree.Tree{
		"a/a.go":      upstream["a/a.go"],
		"a/new.go":    []byte("package a\n"),
		"a/new.txt":   []byte("text"),
		"a/in/new.go": []byte("package in\n"),
		"d/new.go":    []byte("package d\n"),
	}
	require.Equal(t, filetree.Tree{
		"a/a.go":      []byte("package a\n"),
		"a/new.go":    []byte("// Copyright A.\n// More.\n\npackage a\n"),
		"a/new.txt":   []byte("text"),
		"a/in/new.go": []byte("// Copyright A.\n// More.\n\npackage in\n"),
		"d/new.go":    []byte("// Copyright A.\n// More.\n\npackage d\n"),
	}, Licensed(upstream, fork))
	require.Equal(t, filetree.Tree{"x.go": []byte("package x\n")},
		Licensed(filetree.Tree{}, filetree.Tree{"x.go": []byte("package x\n")}), "upstream has none")
}

package assemble

import (
	"bytes"
	"fmt"

	gofumpt "mvdan.cc/gofumpt/format"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
)

// Format formats the Go files of a tree that are not the module's as upstream formats its own.
func Format(m *upstream.Module, t filetree.Tree) error {
	for name, data := range t {
		if bytes.Equal(data, m.Tree[name]) || !syntax.IsGoFile(name) {
			continue
		}
		var err error
		if t[name], err = gofumpt.Source(data, gofumpt.Options{ModulePath: m.Path, LangVersion: "go1.19"}); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

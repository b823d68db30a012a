// Package forktest has what the tests of the builder's packages share: a made-up module, and repositories with an overlay.
package forktest

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"maps"
	"path"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/upstream"
)

// The module that tests are about, and its base.
const (
	Module = "example.com/driver/v2"
	Base   = "v2.0.0"
)

// Source has made-up modules: the files of each version. Its Module is an upstream.Source.
type Source map[string]filetree.Tree

// Module returns a version.
func (s Source) Module(_ context.Context, path, version string) (*upstream.Module, error) {
	tree, ok := s[version]
	if !ok {
		return nil, fmt.Errorf("no version %s of %s", version, path)
	}
	return upstream.New(path, version, maps.Clone(tree))
}

//go:embed testdata/upstream.txtar
var madeUp []byte

// Versions returns the versions of the module in testdata/upstream.txtar. What
// a later version does not have of its own it has from the base, but for the
// files of package pool.
func Versions(t testing.TB) Source {
	t.Helper()
	source := Source{Base: {}, "v2.1.0": {}}
	for _, f := range txtar.Parse(bytes.Clone(madeUp)).Files {
		version, name, _ := strings.Cut(f.Name, "/")
		source[version][name] = f.Data
	}
	for name, data := range source[Base] {
		if path.Dir(name) != "pool" {
			source["v2.1.0"][name] = data
		}
	}
	return source
}

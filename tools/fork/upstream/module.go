// Package upstream gets the module that a fork is built on from the module cache, and finds declarations in it.
package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"mongofork/tools/command"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/syntax"
)

// Module is an unpacked upstream module, parsed.
type Module struct {
	Path, Version string
	Tree          filetree.Tree

	folders map[string][]*syntax.File
	decls   map[syntax.Key][]*syntax.Decl // several where files with different build constraints declare the same name
	parsed  map[string]*syntax.File       // by path
}

func New(modulePath, version string, tree filetree.Tree) (*Module, error) {
	return (&Module{Path: modulePath, Version: version}).With(tree)
}

// With returns the module with other files. What stays the same is not parsed again.
func (m *Module) With(tree filetree.Tree) (*Module, error) {
	other := &Module{Path: m.Path, Version: m.Version, Tree: tree, folders: map[string][]*syntax.File{},
		decls: map[syntax.Key][]*syntax.Decl{}, parsed: map[string]*syntax.File{}}
	for _, name := range tree.Paths() {
		if !syntax.IsGoFile(name) {
			continue
		}
		file := m.parsed[name]
		if file == nil || !bytes.Equal(file.Src, tree[name]) {
			var err error
			if file, err = syntax.Parse(name, tree[name]); err != nil {
				return nil, fmt.Errorf("%s: %w", m, err)
			}
		}
		other.parsed[name] = file
		other.folders[path.Dir(name)] = append(other.folders[path.Dir(name)], file)
		for _, d := range file.Decls {
			if !file.Ignored() && !d.Unnamed() {
				other.decls[d.Key] = append(other.decls[d.Key], d)
			}
		}
	}
	return other, nil
}

// Source provides upstream modules.
type Source func(ctx context.Context, path, version string) (*Module, error)

// Download is the Source of the go command's module cache, which gets what it lacks and checks it against the checksum database.
func Download(ctx context.Context, path, version string) (*Module, error) {
	// Outside of any module no go.mod, go.work or vendor folder can redirect the go command.
	out, err := command.Output(ctx, os.TempDir(), []string{"GOFLAGS=-mod=mod", "GOWORK=off"}, "go", "mod", "download", "-json",
		path+"@"+version)
	var got struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &got); got.Error != "" {
		err = errors.New(got.Error)
	} else if err == nil {
		err = jsonErr
	}
	var tree filetree.Tree
	if err == nil {
		tree, err = filetree.Read(got.Dir)
	}
	if err != nil {
		return nil, fmt.Errorf("module %s@%s is not available: %w", path, version, err)
	}
	return New(path, version, tree)
}

func (m *Module) String() string { return m.Path + " " + m.Version }

// Sum returns the module's hash as go.sum has it, computed from its files.
func (m *Module) Sum() (string, error) { return m.Tree.Hash(m.Path + "@" + m.Version + "/") }

func (m *Module) Folders() []string                  { return slices.Sorted(maps.Keys(m.folders)) }
func (m *Module) Files(folder string) []*syntax.File { return m.folders[folder] }

// Lookup returns the declarations of a key, several if the name is declared under different build constraints.
func (m *Module) Lookup(key syntax.Key) []*syntax.Decl { return m.decls[key] }

// Whole returns the declarations of a key and what cannot be there without it, in order: of a type its methods, and variables without a
// name, such as those that say which interfaces it has.
func (m *Module) Whole(key syntax.Key) (found []*syntax.Decl) {
	for _, file := range m.folders[strings.TrimSuffix(key.Package, "_test")] {
		for _, d := range file.Decls {
			if d.Key.Package == key.Package && (d.Key == key || strings.HasPrefix(d.Key.Name, key.Name+".") ||
				d.Key.Name == "_" && syntax.Mentions(d.Spec, key.Name)) {
				found = append(found, d)
			}
		}
	}
	return found
}

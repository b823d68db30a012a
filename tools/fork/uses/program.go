// Package uses type-checks a module in memory and says which of its declarations use which: what a fork uses of upstream's. The
// standard library comes from the go command, and nothing else is needed: packages of other modules are left out, and with them
// what the type checker would say about them.
package uses

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"mongofork/tools/command"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/upstream"
)

// Program is a module that has been type-checked, without its tests, as it is compiled for Linux without cgo.
type Program struct {
	// Errors are what a compiler would refuse.
	Errors problem.List

	module  *upstream.Module
	fset    *token.FileSet
	folders []string               // those with files, in order
	files   map[string][]*ast.File // by folder
	info    *types.Info
	named   []types.Type // but for interfaces
}

// Check type-checks a module.
func Check(ctx context.Context, run command.RunFunc, m *upstream.Module) (*Program, error) {
	p := &Program{module: m, fset: token.NewFileSet(), files: map[string][]*ast.File{},
		info: &types.Info{Uses: map[*ast.Ident]types.Object{}}}
	c := &checker{Program: p, checked: map[string]*types.Package{}}
	library, err := c.parse()
	if err != nil {
		return nil, err
	}
	exports, err := exported(ctx, run, library)
	if err != nil {
		return nil, err
	}
	c.library = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	version, err := m.GoVersion()
	if err != nil {
		return nil, err
	}
	c.version = "go" + version
	for _, folder := range c.folders {
		declared, err := c.check(folder)
		if err != nil {
			return nil, err
		}
		p.name(declared)
	}
	return p, nil
}

type checker struct {
	*Program
	checked map[string]*types.Package // by folder; nil while one is being checked
	version string
	library types.Importer
}

// parse parses the module's files and returns the packages of the standard library that they import.
func (c *checker) parse() (library []string, err error) {
	for _, name := range compiled(c.module.Tree) {
		file, err := parser.ParseFile(c.fset, name, c.module.Tree[name], parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		folder := path.Dir(name)
		if c.files[folder] == nil {
			c.folders = append(c.folders, folder)
		}
		c.files[folder] = append(c.files[folder], file)
		for _, spec := range file.Imports {
			if imported := strings.Trim(spec.Path.Value, `"`); isLibrary(imported) && imported != "unsafe" {
				library = append(library, imported)
			}
		}
	}
	slices.Sort(library)
	return slices.Compact(library), nil
}

var errOtherModule = errors.New("a package of another module")

// Import returns a package of the module or of the standard library. What others would have is unknown, and no mistake.
func (c *checker) Import(path string) (*types.Package, error) {
	switch folder, inside := c.folder(path); {
	case inside:
		return c.check(folder)
	case isLibrary(path):
		return c.library.Import(path)
	}
	return nil, errOtherModule
}

// folder returns the folder of a package of the module.
func (c *checker) folder(path string) (string, bool) {
	if path == c.module.Path {
		return ".", true
	}
	return strings.CutPrefix(path, c.module.Path+"/")
}

// check type-checks the package of a folder, once.
func (c *checker) check(folder string) (*types.Package, error) {
	if p, done := c.checked[folder]; done {
		if p == nil {
			return nil, fmt.Errorf("import cycle through %s", folder)
		}
		return p, nil
	}
	if c.files[folder] == nil {
		return nil, fmt.Errorf("there is no package in %s", folder)
	}
	c.checked[folder] = nil
	config := types.Config{Importer: c, GoVersion: c.version, Sizes: types.SizesFor("gc", "amd64"), Error: func(err error) {
		var found types.Error
		if errors.As(err, &found) && !strings.Contains(found.Msg, errOtherModule.Error()) {
			at := c.fset.Position(found.Pos)
			c.Errors.Add(at.Filename, at.Line, "", "%s", found.Msg)
		}
	}}
	// The error is the first of those that are collected.
	c.checked[folder], _ = config.Check(c.module.Path+"/"+folder, c.fset, c.files[folder], c.info)
	return c.checked[folder], nil
}

// Package upstream gets the module that a fork is built on from the module cache, and finds declarations in it.
package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"golang.org/x/mod/modfile"

	"mongofork/tools/command"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/syntax"
)

// Module is an unpacked upstream module.
type Module struct {
	Path, Version string
	Tree          filetree.Tree

	packages map[string]*syntax.Package // by folder, parsed on demand
}

// Source provides upstream modules.
type Source interface {
	Module(ctx context.Context, path, version string) (*Module, error)
}

// ModuleCache is the go command's module cache, which downloads what it lacks
// and checks it against the checksum database.
type ModuleCache struct{ Run command.RunFunc }

// Module downloads path@version if needed and reads it.
func (c ModuleCache) Module(ctx context.Context, path, version string) (*Module, error) {
	// Outside of any module no go.mod, go.work or vendor folder can redirect the go command.
	outside, err := os.MkdirTemp("", "mongofork-download-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(outside)
	out, err := c.Run(ctx, outside, []string{"GOFLAGS=-mod=mod", "GOWORK=off"}, "go", "mod", "download", "-json", path+"@"+version)
	var got struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &got); err == nil {
		err = jsonErr
	}
	if got.Error != "" {
		err = errors.New(got.Error)
	}
	if err != nil {
		return nil, fmt.Errorf("module %s@%s is not available: %w", path, version, err)
	}
	tree, err := filetree.Read(got.Dir)
	if err != nil {
		return nil, fmt.Errorf("module %s@%s in the module cache: %w", path, version, err)
	}
	return &Module{Path: path, Version: version, Tree: tree}, nil
}

// String names the module.
func (m *Module) String() string { return m.Path + " " + m.Version }

// Sums returns the module's hashes as computed from its files.
func (m *Module) Sums() (sum, goMod string, err error) { return Sums(m.Path, m.Version, m.Tree) }

// Sums returns the hashes of a module as go.sum has them.
func Sums(path, version string, t filetree.Tree) (sum, goMod string, err error) {
	if sum, err = t.Hash(path + "@" + version + "/"); err != nil {
		return "", "", err
	}
	goMod, err = filetree.Tree{"go.mod": t["go.mod"]}.Hash("")
	return sum, goMod, err
}

// GoVersion returns the version in the module's go directive.
func (m *Module) GoVersion() (string, error) {
	f, err := modfile.ParseLax("go.mod", m.Tree["go.mod"], nil)
	if err != nil {
		return "", err
	}
	if f.Go == nil {
		return "", fmt.Errorf("go.mod of %s@%s has no go directive", m.Path, m.Version)
	}
	return f.Go.Version, nil
}

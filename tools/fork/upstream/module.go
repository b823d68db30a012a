// Package upstream gets the module that a fork is built on from the module cache, and finds declarations in it.
package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/mod/modfile"

	"mongofork/tools/command"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/syntax"
)

// Module is an unpacked upstream module, together with what its source says
// about it.
type Module struct {
	Path, Version string
	// Sum and GoModSum are the hashes that the source states; empty when it
	// states none.
	Sum, GoModSum string
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
	var got struct{ Dir, Sum, GoModSum, Error string }
	err := c.ask(ctx, &got, "mod", "download", "-json", path+"@"+version)
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
	return &Module{Path: path, Version: version, Sum: got.Sum, GoModSum: got.GoModSum, Tree: tree}, nil
}

// ask reads what the go command says outside of any module, where no go.mod, go.work or vendor folder can redirect it.
func (c ModuleCache) ask(ctx context.Context, answer any, args ...string) error {
	dir, err := os.MkdirTemp("", "mongofork-download-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	out, runErr := c.Run(ctx, dir, []string{"GOFLAGS=-mod=mod", "GOWORK=off"}, "go", args...)
	if err := json.Unmarshal(out, answer); err != nil && runErr == nil {
		return fmt.Errorf("unexpected output of go %s: %w", strings.Join(args[:2], " "), err)
	}
	return runErr
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

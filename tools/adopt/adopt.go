// Package adopt puts the fork into an application's go.mod, and takes it out again.
//
// All work is done on copies outside the application's folder: what changes there are go.mod, go.sum and the vendor folder, all
// together and at the end, or nothing.
package adopt

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"mongofork/tools/command"
	"mongofork/tools/fork/filetree"
)

// Application is a module that uses the driver.
type Application struct {
	// Dir is the folder of its go.mod.
	Dir string
	// Driver is the module path of upstream's driver.
	Driver string
	Run    command.RunFunc
}

// Plan says what to replace the driver with.
type Plan struct {
	// Bases are the versions of upstream that have a fork, in ascending order.
	Bases []string
	// Base, if not empty, replaces the lowest base that fits.
	Base string
	// Target makes the fork of a base and returns the replacement: a folder, or a module version.
	Target func(ctx context.Context, base string) (module.Version, error)
	// SkipBuild skips building the application.
	SkipBuild bool
}

// Change describes what changed, or would change, in an application.
type Change struct {
	// Module is the application's module path.
	Module string
	// Required is the driver version that the application's modules require, Base the one that the fork is built on. Base is
	// empty if the fork was removed.
	Required, Base string
	// Workspace is the go.work file above the application, if any.
	Workspace string
	// Files are the changed files: go.mod, go.sum, and those of the vendor folder.
	Files []filetree.Diff

	stage *stage
}

// Use prepares the application for the fork. Nothing changes in its folder before Commit.
func (a Application) Use(ctx context.Context, plan Plan) (*Change, error) {
	s, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.dropOurs(a.Driver); err != nil {
		return nil, s.failed(err)
	}
	required, err := s.selected(ctx, a.Driver)
	if err != nil {
		return nil, s.failed(err)
	}
	base, err := choose(plan.Bases, plan.Base, required)
	if err != nil {
		return nil, s.failed(fmt.Errorf("%s: %w", s.file.Module.Mod.Path, err))
	}
	target, err := plan.Target(ctx, base)
	if err != nil {
		return nil, s.failed(err)
	}
	if target.Version == "" {
		target.Path = relative(s.dir, target.Path)
	}
	if err := putFork(s.file, module.Version{Path: a.Driver, Version: base}, target, required); err != nil {
		return nil, s.failed(err)
	}
	c := &Change{Required: required, Base: base}
	return s.complete(ctx, c, plan.SkipBuild)
}

// Undo prepares the application for upstream's driver, at the version that it required before.
func (a Application) Undo(ctx context.Context, skipBuild bool) (*Change, error) {
	s, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	if !hasOurs(s.file, a.Driver, s.dir) {
		return nil, s.failed(fmt.Errorf("%s has no replace line of the fork", filepath.Join(a.Dir, "go.mod")))
	}
	if err := s.dropOurs(a.Driver); err != nil {
		return nil, s.failed(err)
	}
	return s.complete(ctx, &Change{}, skipBuild)
}

// open reads the application into a new stage.
func (a Application) open(ctx context.Context) (*stage, error) {
	dir, err := filepath.Abs(a.Dir)
	if err != nil {
		return nil, err
	}
	source := filepath.Join(dir, "go.mod")
	data, err := os.ReadFile(source)
	if err != nil {
		return nil, fmt.Errorf("%w: name the folder of the application's go.mod", err)
	}
	file, err := modfile.Parse(source, data, nil)
	if err != nil {
		return nil, err
	}
	if file.Module == nil {
		return nil, fmt.Errorf("%s has no module line", source)
	}
	return newStage(ctx, dir, file, a.Run)
}

// Commit makes the change in the application's folder.
func (c *Change) Commit(ctx context.Context) error {
	defer c.stage.close()
	if len(c.Files) == 0 {
		return nil
	}
	return c.stage.commit(ctx)
}

// Discard forgets the change.
func (c *Change) Discard() { c.stage.close() }

// relative returns a folder as go.mod files name it: beginning with a dot, unless it lies on another volume.
func relative(from, to string) string {
	rel, err := filepath.Rel(from, to)
	if err != nil {
		return to
	}
	rel = filepath.ToSlash(rel)
	if !modfile.IsDirectoryPath(rel) {
		rel = "./" + rel
	}
	return rel
}

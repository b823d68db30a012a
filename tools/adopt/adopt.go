// Package adopt puts the fork into an application's go.mod, and takes it out again.
//
// All work is done on copies outside of the application's folder: what changes there are go.mod, go.sum, go.work.sum and the vendor
// folder, all together and at the end, or nothing. A record of what they were is the way back.
package adopt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

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
	// Bases are the versions of upstream that have a fork, in ascending order.
	Bases []string
	// Command is the command line, without arguments, that puts the fork in.
	Command []string
	// Records is the folder where Use leaves for Undo what it replaced.
	Records string
	Run     command.RunFunc
}

// Plan says what to replace the driver with.
type Plan struct {
	// Base, if not empty, replaces the lowest base that fits.
	Base string
	// Target makes the fork of a base and returns the replacement: a folder, or a module version.
	Target func(ctx context.Context, base string) (module.Version, error)
	// SkipBuild skips building the application.
	SkipBuild bool
}

// Change describes what changed, or would change, in an application.
type Change struct {
	// Module is the application's module path, Dir its folder.
	Module, Dir string
	// Required is the driver version in effect without the fork, Base the one that the fork is built on. Base is empty if the
	// fork was removed.
	Required, Base string
	Edits          []Edit
	// Notes are the effects that a reader of the diffs could miss.
	Notes []string

	stage *stage
}

// Use prepares the application for the fork. Nothing changes in its folder before Commit.
func (a Application) Use(ctx context.Context, plan Plan) (*Change, error) {
	return a.staged(ctx, func(s *stage) (*Change, error) {
		if err := removeFork(s.file, a.Driver, s.app.Dir); err != nil {
			return nil, err
		}
		required, err := s.required(ctx)
		if err != nil {
			return nil, err
		}
		base, err := choose(a.Bases, plan.Base, required)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.file.Module.Mod.Path, err)
		}
		if slices.ContainsFunc(s.file.Exclude, func(e *modfile.Exclude) bool {
			return e.Mod == module.Version{Path: a.Driver, Version: base}
		}) {
			return nil, fmt.Errorf("%s excludes %s of the driver, which the fork is built on: remove that line first",
				s.file.Syntax.Name, base)
		}
		target, err := plan.Target(ctx, base)
		if err != nil {
			return nil, err
		}
		if target.Version == "" {
			target.Path = relative(a.Dir, s.app.Dir, target.Path)
		}
		if s.file.Go == nil {
			// Go mod tidy would add its own version, and change what the language means.
			if err := s.file.AddGoStmt("1.16"); err != nil {
				return nil, err
			}
		}
		if err := putFork(s.file, module.Version{Path: a.Driver, Version: base}, target); err != nil {
			return nil, err
		}
		if err := s.tidy(ctx, target); err != nil {
			return nil, err
		}
		c := &Change{Required: required, Base: base}
		if c.Edits, err = s.edits(); err != nil {
			return nil, err
		}
		if now, err := parse(s.at); err == nil && now.Go.Version != s.file.Go.Version {
			c.Notes = []string{"the go line of go.mod rises from " + s.file.Go.Version + " to " + now.Go.Version +
				": whoever builds the application, or imports it, needs that version of Go"}
		}
		c.Notes = append(c.Notes, s.left()...)
		return c, s.build(ctx, plan.SkipBuild, "it builds without the change")
	})
}

// Undo prepares the application for upstream's driver: for the files that Use replaced if they are as it left them, otherwise for the
// version that was required before.
func (a Application) Undo(ctx context.Context, skipBuild bool) (*Change, error) {
	return a.staged(ctx, func(s *stage) (*Change, error) {
		if !hasOurs(s.file, a.Driver, s.app.Dir) {
			return nil, fmt.Errorf("%s has no replace line of the fork", filepath.Join(a.Dir, "go.mod"))
		}
		c := &Change{}
		r, err := s.app.record()
		if err != nil {
			return nil, err
		}
		if r.holds(s.app.Dir) {
			c.Edits = reversed(r)
			err = apply(s.at, c.Edits)
		} else {
			c.Edits, c.Notes, err = s.takeOut(ctx, r)
		}
		if err != nil {
			return nil, err
		}
		return c, s.build(ctx, skipBuild,
			"it builds with the fork, so its code uses what only the fork has (the messages above name it): "+
				"take that out of the code first, or use --skip-build and do it then")
	})
}

// takeOut removes the fork from files that have changed since Use, and reports which of its changes stay.
func (s *stage) takeOut(ctx context.Context, r record) ([]Edit, []string, error) {
	if err := removeFork(s.file, s.app.Driver, s.app.Dir); err != nil {
		return nil, nil, err
	}
	if err := s.tidy(ctx, module.Version{}); err != nil {
		return nil, nil, err
	}
	edits, err := s.edits()
	if len(r) == 0 {
		return edits,
			[]string{"there is no record of the files before the fork: what it raised in go.mod stays; compare with your " +
				"version control"}, err
	}
	now, readErr := os.ReadFile(s.modFile())
	var stays []string
	for _, e := range r {
		if e.Path == "go.mod" {
			stays = []string{fmt.Sprintf("the files have changed since the fork was put in, so this stays in go.mod:\n%s",
				filetree.Diff("before the fork", unixLines(e.Before), "now", unixLines(now)))}
		}
	}
	return edits, stays, errors.Join(err, readErr)
}

// staged reads the application into a stage and prepares a change there.
func (a Application) staged(ctx context.Context, prepare func(*stage) (*Change, error)) (*Change, error) {
	s, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	c, err := prepare(s)
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	c.stage, c.Module, c.Dir = s, s.file.Module.Mod.Path, s.app.Dir
	return c, nil
}

// open reads the application into a new stage.
func (a Application) open(ctx context.Context) (*stage, error) {
	dir, err := filepath.Abs(a.Dir)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	file, err := parse(dir)
	if err != nil {
		return nil, err
	}
	a.Dir = dir
	return newStage(ctx, a, file)
}

// Commit makes the change in the application's folder. After Use it checks that the fork is in effect there, in the environment as it
// is, and returns what Check says; if it is not, nothing changes.
func (c *Change) Commit(ctx context.Context) (effect string, err error) {
	s := c.stage
	defer func() { err = errors.Join(err, s.close()) }()
	if c.Base == "" {
		if err := apply(s.app.Dir, c.Edits); err != nil {
			return "", err
		}
		return "", s.app.keep(nil)
	}
	before, err := s.app.record()
	if err != nil {
		return "", err
	}
	if err := s.app.keep(before.with(s.app.Dir, c.Edits, s.forked)); err != nil {
		return "", err
	}
	if err := apply(s.app.Dir, c.Edits); err != nil {
		return "", errors.Join(err, s.app.keep(before))
	}
	if effect, _, err = s.app.check(ctx); err != nil {
		if s.work.file != "" {
			err = fmt.Errorf("%w: the workspace %s decides", err, s.work.file)
		}
		return "", errors.Join(fmt.Errorf("the fork would not be in effect: %w", err), apply(s.app.Dir, reversed(c.Edits)),
			s.app.keep(before))
	}
	return effect, nil
}

// Discard forgets the change.
func (c *Change) Discard() error { return c.stage.close() }

// relative returns a folder as go.mod files name it: beginning with a dot, from the application's folder as it was given and as it
// really is. If these see it differently, or it lies on another volume, it stays as it is.
func relative(given, real, folder string) string {
	if abs, err := filepath.Abs(given); err == nil {
		given = abs
	}
	rel, err := filepath.Rel(given, folder)
	if err != nil {
		return folder
	}
	want, err := os.Stat(folder)
	if found, foundErr := os.Stat(filepath.Join(real, rel)); err != nil || foundErr != nil || !os.SameFile(found, want) {
		return folder
	}
	rel = filepath.ToSlash(rel)
	if !modfile.IsDirectoryPath(rel) {
		rel = "./" + rel
	}
	return rel
}

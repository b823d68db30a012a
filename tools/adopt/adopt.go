// Package adopt puts the fork into an application's go.mod, and takes it out again.
//
// All work is done on copies outside of the application's folder: what changes there are go.mod, go.sum and the vendor folder, all
// together and at the end, or nothing. A record of what they were is the way back.
package adopt

import (
	"context"
	"errors"
	"fmt"
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
	Target func(base string) (module.Version, error)
	// SkipBuild skips building the application.
	SkipBuild bool
}

// Change describes what changed, or would change, in an application.
type Change struct {
	Files
	// Module is the application's module path, Dir its folder.
	Module, Dir string
	// Required is the driver version in effect without the fork, Base the one that the fork is built on. Base is empty if the
	// fork was removed.
	Required, Base string
	// Notes are the effects that a reader of the diffs could miss.
	Notes []string

	stage *stage
}

// Use prepares the application for the fork. Nothing changes in its folder before Commit.
func (a Application) Use(ctx context.Context, plan Plan) (*Change, error) {
	return a.staged(ctx, func(s *stage, c *Change) (err error) {
		if err := removeFork(s.file, a.Driver, s.app.Dir); err != nil {
			return err
		}
		if c.Required, err = s.required(ctx); err != nil {
			return err
		}
		if c.Base, err = choose(a.Bases, plan.Base, c.Required); err != nil {
			return fmt.Errorf("%s: %w", c.Module, err)
		}
		target, err := plan.Target(c.Base)
		if err != nil {
			return err
		}
		if target.Version == "" {
			target.Path = relative(a.Dir, s.app.Dir, target.Path)
		}
		if s.file.Go == nil {
			// Go mod tidy would add its own version, and change what the language means.
			if err := s.file.AddGoStmt("1.16"); err != nil {
				return err
			}
		}
		if err := putFork(s.file, module.Version{Path: a.Driver, Version: c.Base}, target); err != nil {
			return err
		}
		if c.After, err = s.tidy(ctx, target); err != nil {
			return err
		}
		if now, err := parse(s.at); err == nil && now.Go.Version != s.file.Go.Version {
			c.Notes = []string{"the go line of go.mod rises from " + s.file.Go.Version + " to " + now.Go.Version +
				": whoever builds the application, or imports it, needs that version of Go"}
		}
		c.Notes = append(c.Notes, s.left()...)
		return s.build(ctx, plan.SkipBuild, "it builds without the change")
	})
}

// Undo prepares the application for upstream's driver: for the files that Use replaced if they are as it left them, otherwise for the
// version that was required before.
func (a Application) Undo(ctx context.Context, skipBuild bool) (*Change, error) {
	return a.staged(ctx, func(s *stage, c *Change) error {
		if !s.forked {
			return fmt.Errorf("%s has no replace line of the fork", filepath.Join(a.Dir, "go.mod"))
		}
		r, err := s.app.record()
		if err != nil {
			return err
		}
		if r != nil && r.holds(s.app.Dir) {
			c.Files = r.reversed()
			err = with(nil, c.After, []string{"go.mod", "go.sum"}).Write(s.at)
		} else {
			err = s.takeOut(ctx, c, r)
		}
		if err != nil {
			return err
		}
		return s.build(ctx, skipBuild,
			"it builds with the fork, so its code uses what only the fork has (the messages above name it): "+
				"take that out of the code first, or use --skip-build and do it then")
	})
}

// takeOut removes the fork from files that have changed since Use, and notes which of its changes stay.
func (s *stage) takeOut(ctx context.Context, c *Change, r *Files) (err error) {
	if err := removeFork(s.file, s.app.Driver, s.app.Dir); err != nil {
		return err
	}
	if c.After, err = s.tidy(ctx, module.Version{}); err != nil {
		return err
	}
	note := "there is no record of the files before the fork: what it raised in go.mod stays; compare with your version control"
	if r != nil {
		note = fmt.Sprintf("the files have changed since the fork was put in, so this stays in go.mod:\n%s", filetree.Diff(
			"before the fork", unixLines(r.Before["go.mod"]), "now", unixLines(c.After["go.mod"])))
	}
	c.Notes = []string{note}
	return nil
}

// staged reads the application into a stage and prepares a change there.
func (a Application) staged(ctx context.Context, prepare func(*stage, *Change) error) (*Change, error) {
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
	s, err := newStage(ctx, a, file)
	if err != nil {
		return nil, err
	}
	c := &Change{stage: s, Module: file.Module.Mod.Path, Dir: dir, Files: Files{Before: s.before}}
	if err := prepare(s, c); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return c, nil
}

// Commit makes the change in the application's folder. After Use it checks that the fork is in effect there, in the environment as it
// is, and returns what Check says; if it is not, nothing changes.
func (c *Change) Commit(ctx context.Context) (effect string, err error) {
	s := c.stage
	defer func() { err = errors.Join(err, s.close()) }()
	if c.Base == "" {
		if err := c.apply(s.app.Dir); err != nil {
			return "", err
		}
		return "", s.app.keep(nil)
	}
	before, err := s.app.record()
	if err != nil {
		return "", err
	}
	record := &c.Files
	switch {
	case s.forked && (before == nil || !before.holds(s.app.Dir)):
		record = nil // what was there before the fork is not known
	case s.forked:
		record = before.followedBy(c.Files)
	}
	if err := s.app.keep(record); err != nil {
		return "", err
	}
	if err := c.apply(s.app.Dir); err != nil {
		return "", errors.Join(err, s.app.keep(before))
	}
	if effect, _, _, err = s.app.check(ctx); err != nil {
		if s.work.file != "" {
			err = fmt.Errorf("%w: the workspace %s decides", err, s.work.file)
		}
		return "", errors.Join(fmt.Errorf("the fork would not be in effect: %w", err), c.reversed().apply(s.app.Dir), s.app.keep(before))
	}
	return effect, nil
}

// Discard forgets the change.
func (c *Change) Discard() error { return c.stage.close() }

// relative returns a folder as go.mod files name it, from the application's folder. If a link leads to that, the go command would look
// from elsewhere, and the folder stays as it is, as on another volume.
func relative(given, real, folder string) string {
	abs, absErr := filepath.Abs(given)
	rel, err := filepath.Rel(real, folder)
	if err != nil || absErr != nil || abs != real {
		return folder
	}
	if rel = filepath.ToSlash(rel); !modfile.IsDirectoryPath(rel) {
		rel = "./" + rel
	}
	return rel
}

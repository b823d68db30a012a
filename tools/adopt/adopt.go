// Package adopt puts the fork into an application's go.mod, and takes it out again.
//
// All work is done on copies outside of the application's folder: what changes there are go.mod, go.sum and the vendor folder, all
// together and at the end, or nothing. A record of what they were is the way back.
package adopt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

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

// Change describes what has changed in an application.
type Change struct {
	// Module is the application's module path.
	Module string
	// Required is the driver version in effect without the fork, Base the one that the fork is built on. Both are empty if the
	// fork was removed.
	Required, Base string
	Edits          []Edit
	// Notes are the effects that a reader of the diffs could miss.
	Notes []string
	// Effect is what Check says of the application with the fork.
	Effect string
}

// Use puts the fork into the application. If it is not in effect there then, in the environment as it is, nothing has changed.
func (a Application) Use(ctx context.Context, plan Plan) (*Change, error) {
	s, err := a.open()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(s.at)
	c := &Change{Module: s.file.Module.Mod.Path}
	forked := hasOurs(s.file, a.Driver, s.app.Dir)
	if err := removeFork(s.file, a.Driver, s.app.Dir); err != nil {
		return nil, err
	}
	if c.Required, err = s.required(ctx); err != nil {
		return nil, err
	}
	if c.Base, err = choose(a.Bases, plan.Base, c.Required); err != nil {
		return nil, fmt.Errorf("%s: %w", c.Module, err)
	}
	target, err := plan.Target(ctx, c.Base)
	if err != nil {
		return nil, err
	}
	if c.Notes, err = s.putFork(ctx, module.Version{Path: a.Driver, Version: c.Base}, target); err != nil {
		return nil, err
	}
	if c.Edits, err = s.edits(); err != nil {
		return nil, err
	}
	if err := s.build(ctx, plan.SkipBuild); err != nil {
		return nil, err
	}
	c.Effect, err = s.app.commit(ctx, c.Edits, forked)
	return c, err
}

// commit makes the edits in the application's folder, and takes them back if the fork is not in effect then.
func (a Application) commit(ctx context.Context, edits []Edit, forked bool) (effect string, err error) {
	before, err := a.record()
	if err != nil {
		return "", err
	}
	if err := a.keep(before.with(a.Dir, edits, forked)); err != nil {
		return "", err
	}
	if err := apply(a.Dir, edits); err != nil {
		return "", errors.Join(err, a.keep(before))
	}
	if effect, _, err = a.check(ctx); err != nil {
		err = fmt.Errorf("the fork would not be in effect: %w (a go.work file or GOFLAGS decide; --base names a higher base)", err)
		return "", errors.Join(err, apply(a.Dir, reversed(edits)), a.keep(before))
	}
	return effect, nil
}

// Undo puts upstream's driver into the application: the files that Use replaced if they are as it left them; otherwise it only takes
// the fork out.
func (a Application) Undo(ctx context.Context, skipBuild bool) (*Change, error) {
	s, err := a.open()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(s.at)
	if !hasOurs(s.file, a.Driver, s.app.Dir) {
		return nil, fmt.Errorf("%s has no replace line of the fork", filepath.Join(a.Dir, "go.mod"))
	}
	r, err := s.app.record()
	if err != nil {
		return nil, err
	}
	c := &Change{Module: s.file.Module.Mod.Path}
	if r.holds(s.app.Dir) {
		c.Edits = reversed(r)
		err = apply(s.at, c.Edits)
	} else {
		c.Edits, c.Notes, err = s.takeOut(ctx, r)
	}
	if err != nil {
		return nil, err
	}
	if err := s.build(ctx, skipBuild); err != nil {
		return nil, fmt.Errorf("%w, if the code uses what only the fork has", err)
	}
	return c, errors.Join(apply(s.app.Dir, c.Edits), s.app.keep(nil))
}

// takeOut removes the fork from files that have changed since Use, and reports which of its changes stay.
func (s *stage) takeOut(ctx context.Context, r record) ([]Edit, []string, error) {
	if err := removeFork(s.file, s.app.Driver, s.app.Dir); err != nil {
		return nil, nil, err
	}
	if err := s.tidy(ctx); err != nil {
		return nil, nil, err
	}
	edits, err := s.edits()
	if len(r) == 0 {
		return edits, []string{"there is no record of the files before the fork: what it raised in go.mod stays; compare with your version control"}, err
	}
	now, readErr := os.ReadFile(s.modFile())
	var stays []string
	for _, e := range r {
		if e.Path == "go.mod" {
			stays = []string{fmt.Sprintf("the files have changed since the fork was put in, so this stays in go.mod:\n%s",
				filetree.Diff("before the fork", e.Before, "now", now))}
		}
	}
	return edits, stays, errors.Join(err, readErr)
}

// open reads the application into a new stage.
func (a Application) open() (*stage, error) {
	dir, err := filepath.Abs(a.Dir)
	if err != nil {
		return nil, err
	}
	if a.Dir, err = filepath.EvalSymlinks(dir); err != nil {
		a.Dir = dir // parse says what is wrong with it
	}
	file, err := parse(a.Dir)
	if err != nil {
		return nil, err
	}
	return newStage(a, file)
}

// Package adopt puts the fork into an application's go.mod, and takes it out again.
//
// It works on copies outside of the application's folder. At the end it changes go.mod, go.sum and the vendor folder together, or nothing.
// It records what they were, so that the change can be undone.
package adopt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"mongofork/tools/command"
	"mongofork/tools/fork/filetree"
)

// Driver is the module path of upstream's driver; v1 is that of its first major version.
const (
	Driver = v1 + "/v2"
	v1     = "go.mongodb.org/mongo-driver"
)

// Application is a module that uses the driver.
type Application struct {
	// Dir is the folder of its go.mod.
	Dir string
	// Root is the folder of the fork's repository. Bases are the versions of upstream that the fork can be built on, in ascending
	// order.
	Root  string
	Bases []string
	Run   command.RunFunc
	// Mends are later versions of modules that the fork of a base requires, without their known vulnerabilities.
	Mends func(base string) ([]Mend, error)
	// Sums returns the lines that go.sum may contain for a released fork, and where these lines come from.
	Sums func(ctx context.Context, version string) (goSum, from string, err error)
}

// Mend is the first version of a module without a published vulnerability, the vulnerability's ID, and the version of Go that it needs.
type Mend struct {
	module.Version
	ID, Go string
}

// Change is a change of an application. Until Commit nothing changes in the application's folder: the go command reads and writes copies of
// go.mod and go.sum, and makes the new vendor folder beside them.
type Change struct {
	Files
	// Module is the application's module path, Dir its folder.
	Module, Dir string
	// Required is the driver version in effect without the fork. Base is the one that the fork is built on; it is empty if the fork was
	// removed.
	Required, Base string
	// Notes are the effects that a reader of the diffs could miss.
	Notes []string

	app      Application
	given    string // the application's folder as it was named
	at       string // the folder of the copies
	file     *modfile.File
	forked   bool          // whether the application has the fork
	record   *record       // what the last Use changed, if that is known
	origin   filetree.Tree // the files as they were without the fork; nil if that is not known
	vendored bool
	work     workspace
}

// Use prepares the application for the fork of a base, by default the lowest that fits. Fork builds it and returns the replacement: a
// folder, or a module version.
func (c *Change) Use(ctx context.Context, base string, fork func(base string) (module.Version, error)) (err error) {
	if err := removeFork(c.file, c.Dir); err != nil {
		return err
	}
	if c.Required, err = c.required(ctx); err != nil {
		return err
	}
	if c.Base, err = choose(c.app.Bases, base, c.Required); err != nil {
		return fmt.Errorf("%s: %w", c.Module, err)
	}
	target, err := fork(c.Base)
	if err != nil {
		return err
	}
	if target.Version == "" {
		target.Path = relative(c.given, c.Dir, target.Path)
		if c.vendored && strings.ContainsAny(target.Path, " \t\n") {
			return fmt.Errorf("the go command cannot vendor a module from a folder with a space in its path, %q: "+
				"move this repository to another folder, or use a release", target.Path)
		}
	}
	if c.file.Go == nil {
		// Go mod tidy would add its own version, and change what the language means.
		if err := c.file.AddGoStmt("1.16"); err != nil {
			return err
		}
	}
	if err := putFork(c.file, c.Base, target); err != nil {
		return err
	}
	mends, err := c.mends()
	if err != nil {
		return err
	}
	if c.After, err = c.tidy(ctx, target); err != nil {
		return err
	}
	if target.Version != "" {
		if err := c.app.verify(ctx, target.Version, c.After["go.sum"]); err != nil {
			return err
		}
	}
	if now, err := parse(c.at); err == nil && now.Go.Version != c.file.Go.Version {
		c.Notes = []string{"the go line of go.mod rises from " + c.file.Go.Version + " to " + now.Go.Version +
			": whoever builds the application, or imports it, needs that version of Go"}
	}
	c.Notes = append(c.Notes, c.mended(mends)...)
	c.Notes = append(c.Notes, c.left()...)
	return nil
}

// Undo prepares the application for upstream's driver. Files that are still as Use left them become what they were before. Otherwise it
// restores the version that was required before, and notes which changes of Use stay.
func (c *Change) Undo(ctx context.Context) (err error) {
	if !c.forked {
		return fmt.Errorf("%s has no replace line of the fork", filepath.Join(c.given, "go.mod"))
	}
	if c.origin != nil {
		c.After = c.origin
		return with(nil, c.After, texts).Write(c.at)
	}
	if err := removeFork(c.file, c.Dir); err != nil {
		return err
	}
	if c.After, err = c.tidy(ctx, module.Version{}); err != nil {
		return err
	}
	note := "there is no record of the files before the fork: what it raised in go.mod stays; compare with your version control"
	if c.record != nil {
		note = fmt.Sprintf("the files have changed since the fork was put in, so this stays in go.mod:\n%s", filetree.Diff(
			"before the fork", unixLines(c.record.Before["go.mod"]), "now", unixLines(c.After["go.mod"])))
	}
	c.Notes = []string{note}
	return nil
}

// Build builds the application with the change. If it fails although it builds without the change, the error says what to do.
func (c *Change) Build(ctx context.Context) error {
	_, err := c.goRun(ctx, "build", "-mod=mod", "-modfile="+c.modFile(), "-o", os.DevNull, "./...")
	if err == nil || ctx.Err() != nil {
		return err
	}
	advice := "it builds without the change"
	if _, before := c.app.Run(ctx, c.Dir, nil, "go", "build", "-o", os.DevNull, "./..."); before != nil {
		advice = "it does not build without the change either; --skip-build skips the build"
	} else if c.Base == "" {
		advice = "it builds with the fork, so its code uses what only the fork has (the messages above name it): " +
			"take that out of the code first, or use --skip-build and do it then"
	}
	return fmt.Errorf("%w\n%s", err, advice)
}

// commands is the package of the driver that sends commands.
const commands = Driver + "/x/mongo/driver"

// Explain adds a note if what was built does not use the fork.
func (c *Change) Explain(ctx context.Context) error {
	list, err := c.goRun(ctx, "list", "-mod=mod", "-modfile="+c.modFile(), "-deps", "./...")
	if err == nil && !slices.Contains(strings.Fields(list), commands) {
		c.Notes = append(c.Notes, "it uses no package of the driver that sends commands, so the fork changes nothing for it")
	}
	return err
}

// Commit makes the change in the application's folder. After Use it checks that the fork is in effect there, with the present environment,
// and returns what Check says. If the fork is not in effect, nothing changes. If the process is killed, Repair takes back what it has done.
func (c *Change) Commit(ctx context.Context) (effect string, err error) {
	unlock, err := c.app.lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	now, err := tree(c.Dir, c.vendored)
	if err != nil {
		return "", err
	}
	if changed := filetree.Changed(c.Before, now); len(changed) > 0 {
		return "", fmt.Errorf("%s was changed by somebody else meanwhile: run this again", filepath.Join(c.Dir, changed[0]))
	}
	if err := c.remember(); err != nil {
		return "", err
	}
	if effect, err = c.apply(ctx); err != nil {
		_, backErr := c.app.takeBack()
		return "", errors.Join(err, backErr)
	}
	if c.Base == "" {
		err = os.RemoveAll(c.app.recordFile())
	}
	if err := os.RemoveAll(place(c.Dir).file(staging)); err != nil {
		c.Notes = append(c.Notes, fmt.Sprintf("remove what is left of the old files: %v", err))
	}
	return effect, err
}

// apply makes the change, up to the removal of its journal.
func (c *Change) apply(ctx context.Context) (effect string, err error) {
	if len(c.Paths()) > 0 {
		err = run(c.steps(place(c.Dir)))
	}
	if err == nil && c.Base != "" {
		if effect, _, err = c.app.check(ctx); err != nil && c.work.file != "" {
			err = fmt.Errorf("%w: the workspace %s decides", err, c.work.file)
		}
		if err != nil {
			err = fmt.Errorf("the fork would not be in effect: %w", err)
		}
	}
	if err != nil {
		return "", err
	}
	return effect, os.RemoveAll(place(c.Dir).file(journal))
}

// relative returns a folder in the way that go.mod files name it, relative to the application's folder. The folder stays absolute if a link
// leads to the application, because the go command would start elsewhere, and if it is on another volume.
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

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
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"mongofork/tools/command"
	"mongofork/tools/fork/filetree"
)

// Driver is the module path of upstream's driver, v1 that of its version before.
const (
	Driver = v1 + "/v2"
	v1     = "go.mongodb.org/mongo-driver"
)

// Application is a module that uses the driver.
type Application struct {
	// Dir is the folder of its go.mod.
	Dir string
	// Root is the folder of the fork's repository, Bases are the versions of upstream that it has forks of, in ascending order.
	Root  string
	Bases []string
	Run   command.RunFunc
	// Mends are later versions of modules that the fork of a base requires.
	Mends func(base string) ([]Mend, error)
	// Sums returns the lines that go.sum may have of a released fork, and where they are from.
	Sums func(ctx context.Context, version string) (goSum, from string, err error)
}

// Mend is the first version of a module that lacks a published vulnerability, the ID of that, and the version of Go that it needs.
type Mend struct {
	module.Version
	ID, Go string
}

// Change is a change of an application. Before Commit nothing changes in its folder: the go command reads and writes copies of go.mod and
// go.sum, and makes the future vendor folder beside them.
type Change struct {
	Files
	// Module is the application's module path, Dir its folder.
	Module, Dir string
	// Required is the driver version in effect without the fork, Base the one that the fork is built on. Base is empty if the
	// fork was removed.
	Required, Base string
	// Notes are the effects that a reader of the diffs could miss.
	Notes []string

	app      Application
	given    string // the application's folder as it was named
	at       string // the folder of the copies
	file     *modfile.File
	forked   bool          // whether the application has the fork
	record   *Files        // what the last Use changed, if that is known
	origin   filetree.Tree // the files as they were without the fork; nil if that is not known
	vendored bool
	work     workspace
}

// Use prepares the application for the fork of a base, by default of the lowest that fits. Fork makes it and returns the replacement: a
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

// Undo prepares the application for upstream's driver: for the files that Use replaced if they are as it left them, otherwise for the
// version that was required before. Then it notes which changes of Use stay.
func (c *Change) Undo(ctx context.Context) (err error) {
	if !c.forked {
		return fmt.Errorf("%s has no replace line of the fork", filepath.Join(c.given, "go.mod"))
	}
	if c.origin != nil {
		c.After = c.origin
		return with(nil, c.After, []string{"go.mod", "go.sum"}).Write(c.at)
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

// Build builds the application as it will be. If it only fails then, the error says what to do.
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

// Explain notes if what was built gains nothing by the fork.
func (c *Change) Explain(ctx context.Context) error {
	list, err := c.goRun(ctx, "list", "-mod=mod", "-modfile="+c.modFile(), "-deps", "./...")
	if err == nil && !slices.Contains(strings.Fields(list), commands) {
		c.Notes = append(c.Notes, "it uses no package of the driver that sends commands, so the fork changes nothing for it")
	}
	return err
}

// Commit makes the change in the application's folder. After Use it checks that the fork is in effect there, in the environment as it
// is, and returns what Check says; if it is not, nothing changes.
func (c *Change) Commit(ctx context.Context) (effect string, err error) {
	if c.Base == "" {
		if err := c.apply(c.Dir); err != nil {
			return "", err
		}
		return "", c.app.keep(nil)
	}
	var record *Files
	if c.origin != nil {
		record = &Files{c.origin, c.After}
	}
	if err := c.app.keep(record); err != nil {
		return "", err
	}
	if err := c.apply(c.Dir); err != nil {
		return "", errors.Join(err, c.app.keep(c.record))
	}
	if effect, _, err = c.app.check(ctx); err != nil {
		if c.work.file != "" {
			err = fmt.Errorf("%w: the workspace %s decides", err, c.work.file)
		}
		err = fmt.Errorf("the fork would not be in effect: %w", err)
		return "", errors.Join(err, Files{c.After, c.Before}.apply(c.Dir), c.app.keep(c.record))
	}
	return effect, nil
}

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

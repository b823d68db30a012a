// Package adopt puts the fork into an application's go.mod, and takes it out again.
//
// It works on copies outside of the application's folder. At the end it changes go.mod, go.sum and the vendor folder together, or nothing.
package adopt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"mongofork/tools/command"
	"mongofork/tools/fork"
	"mongofork/tools/fork/filetree"
)

// Driver is the module path of upstream's driver; v1 is that of its first major version.
const (
	Driver = v1 + "/v2"
	v1     = "go.mongodb.org/mongo-driver"
)

// Application is a module that uses the driver.
type Application struct {
	// Dir is the folder of its go.mod, Project the repository of the fork.
	Dir     string
	Project *fork.Project
	// Progress is called with the name of each step that takes long, when the step begins.
	Progress func(step string)

	work string // the go.work file in effect; empty if there is none
}

// Options say how Change changes an application; as kong takes them.
type Options struct {
	DryRun    bool   `short:"n" help:"Show the changes to the application without making them."`
	Undo      bool   `xor:"mode" help:"Restore upstream's driver, and the version that was required."`
	Release   bool   `help:"Use the released version from a module proxy instead of the folder in build/."`
	SkipBuild bool   `help:"Do not build the application."`
	Base      string `kong:"-"` // the version of upstream whose fork is used; by default the lowest that fits
}

// Change is a change of an application that was made, or would be.
type Change struct {
	Application
	// Module is the application's module path.
	Module string
	// Required is the driver version in effect without the fork, and Requiring the module that requires it: in a workspace, perhaps
	// another one. Base is the version that the fork is built on; it is empty if the fork was removed.
	Required, Requiring, Base string
	// Before and After are go.mod, go.sum and the vendor folder.
	Before, After filetree.Tree
	// Notes are the effects that a reader of the diffs could miss. Effect is what Check says of the changed application.
	Notes  []string
	Effect string

	given    string // the application's folder as it was named
	at       string // the folder of the copies
	file     *modfile.File
	forked   bool // whether the application has the fork
	vendored bool
}

// Change puts the fork into the application, or removes it. If that fails, nothing has changed.
func (a Application) Change(ctx context.Context, o Options) (c *Change, err error) {
	if c, err = a.open(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(c.at)) }()
	if o.Undo {
		err = c.undo(ctx)
	} else {
		err = c.use(ctx, o)
	}
	if err == nil && !o.SkipBuild {
		err = c.build(ctx)
	}
	if err == nil && !o.DryRun {
		err = c.commit(ctx)
	}
	return c, err
}

// open reads the application and makes the folder of the copies.
func (a Application) open(ctx context.Context) (c *Change, err error) {
	c = &Change{Application: a, given: a.Dir}
	c.Dir = realFolder(a.Dir)
	c.vendored = vendored(c.Dir)
	if c.file, err = parse(c.Dir); err != nil {
		return nil, err
	}
	c.Module, c.forked = c.file.Module.Mod.Path, hasOurs(c.file, c.Dir)
	if c.work, err = c.workspace(ctx); err != nil {
		return nil, err
	}
	if c.work != "" && vendored(filepath.Dir(c.work)) {
		return nil, fmt.Errorf("the workspace %s has a vendor folder, which only go work vendor can write: remove the folder "+
			"first, and run that after", c.work)
	}
	if c.Before, err = tree(c.Dir, c.vendored); err != nil {
		return nil, err
	}
	if c.at, err = os.MkdirTemp("", "mongofork-use-"); err != nil {
		return nil, err
	}
	if sums, exist := c.Before["go.sum"]; exist {
		err = filetree.Tree{"go.sum": sums}.Write(c.at)
	}
	return c, err
}

// use prepares the application for the fork.
func (c *Change) use(ctx context.Context, o Options) error {
	if err := errors.Join(c.foreign(), c.listed(c.Module)); err != nil {
		return err
	}
	if err := removeFork(c.file, c.Dir); err != nil {
		return err
	}
	bases, err := c.Project.Bases()
	if err != nil {
		return err
	}
	if c.Required, err = c.required(ctx); err != nil {
		return err
	}
	c.Requiring = c.requiring(c.file, c.Required)
	if c.Base, err = choose(bases, o.Base, c.Required); err != nil {
		return fmt.Errorf("%s: %w", c.Requiring, err)
	}
	list, err := c.Project.Advisories()
	if err := errors.Join(err, mend(c.file, list, c.Base)); err != nil {
		return err
	}
	target, err := c.fork(ctx, o.Release)
	if err := errors.Join(err, putFork(c.file, c.Base, target)); err != nil {
		return err
	}
	if err := c.tidy(ctx); err != nil {
		return err
	}
	now, err := modfile.Parse("go.mod", c.After["go.mod"], nil)
	if err != nil {
		return err
	}
	if strings.TrimSuffix(now.Go.Version, ".0") != strings.TrimSuffix(c.file.Go.Version, ".0") { // 1.25 means 1.25.0 to who builds it
		c.Notes = []string{"the go line of go.mod rises from " + c.file.Go.Version + " to " + now.Go.Version +
			": whoever builds the application, or imports it, needs that version of Go"}
	}
	before, err := modfile.Parse("go.mod", c.Before["go.mod"], nil)
	c.Notes = append(c.Notes, mended(list, c.Base, before, now)...)
	return err
}

// fork returns what takes the driver's place: a folder, or a module version. The go command then compares that with the known hashes.
func (c *Change) fork(ctx context.Context, release bool) (target module.Version, err error) {
	c.Progress("making the fork of " + c.Base)
	project := c.Project.On(c.Base)
	if !release {
		target.Path = relative(c.given, c.Dir, project.Folder(project.Base).Dir)
		if c.vendored && strings.ContainsAny(target.Path, " \t\n") {
			return target, fmt.Errorf("the go command cannot vendor a module from a folder with a space in its path, %q: "+
				"move this repository to another folder, or use a release", target.Path)
		}
		_, _, _, err := project.Build(ctx)
		return target, err
	}
	built, err := project.Fork(ctx, false)
	if err != nil {
		return target, err
	}
	if target, err = built.Released(); err != nil {
		return target, err
	}
	known, from, err := project.Sums(ctx, target.Version)
	if err != nil {
		return target, err
	}
	goSum := string(c.Before["go.sum"]) + "\n" + known
	if err := os.WriteFile(filepath.Join(c.at, "go.sum"), []byte(goSum), 0o600); err != nil {
		return target, err
	}
	c.Progress("go mod download " + target.String())
	// Tidy would repeat what is wrong with it for each package.
	if _, err = c.onCopies(ctx, "mod download", target.String()); err != nil {
		err = fmt.Errorf("%w\nset GOPROXY=<address of the release>,… as docs/builder.md (Using a release) says; if the release "+
			"that is served there is not that of %s, find out who has changed it", err, from)
		return target, err
	}
	folder, err := c.onCopies(ctx, "list -m", "-mod=mod", "-f", "{{.Dir}}", target.String())
	if err != nil {
		return target, err
	}
	sum, err := sumLine(folder, target)
	return target, errors.Join(err, compare(sum, known, from, target))
}

// undo prepares the application for upstream's driver: it restores the version that was required before.
func (c *Change) undo(ctx context.Context) error {
	if !c.forked {
		return fmt.Errorf("%s has no replace line of the fork", filepath.Join(c.given, "go.mod"))
	}
	c.Notes = []string{"what else use has raised in go.mod stays: compare with your version control"}
	if err := removeFork(c.file, c.Dir); err != nil {
		return err
	}
	return c.tidy(ctx)
}

// build builds the application with the change. If it fails although it builds without the change, the error says what to do.
func (c *Change) build(ctx context.Context) error {
	c.Progress("go build ./...")
	if _, err := c.onCopies(ctx, "build", "-mod=mod", "-o", os.DevNull, "./..."); ctx.Err() != nil {
		return err
	} else if err != nil {
		advice := "it builds without the change"
		if _, before := c.goCommand(ctx, nil, "build", "-o", os.DevNull, "./..."); before != nil {
			advice = "it does not build without the change either; --skip-build skips the build"
		} else if c.Base == "" {
			advice = "it builds with the fork, so its code uses what only the fork has (the messages above name it): " +
				"take that out of the code first, or use --skip-build and do it then"
		}
		return fmt.Errorf("%w\n%s", err, advice)
	}
	if c.Base == "" {
		return nil
	}
	list, err := c.onCopies(ctx, "list", "-mod=mod", "-deps", "./...")
	if err == nil && !slices.Contains(strings.Fields(list), Driver+"/x/mongo/driver") {
		c.Notes = append(c.Notes, "it uses no package of the driver that sends commands, so the fork changes nothing for it")
	}
	return err
}

// goCommand runs the go command in the application's folder.
func (a Application) goCommand(ctx context.Context, env []string, args ...string) (string, error) {
	out, err := command.Output(ctx, a.Dir, env, "go", args...)
	return strings.TrimSpace(string(out)), err
}

// onCopies runs the go command on the copies.
func (c *Change) onCopies(ctx context.Context, verb string, args ...string) (string, error) {
	return c.goCommand(ctx, []string{"GOWORK=off"}, slices.Concat(strings.Fields(verb), []string{"-modfile=" + c.modFile()}, args)...)
}

func (c *Change) modFile() string { return filepath.Join(c.at, "go.mod") }

func write(file *modfile.File, name string) error {
	data, err := file.Format()
	return errors.Join(err, os.WriteFile(name, data, 0o600))
}

// required returns the driver version that is in effect without the fork: the one that the application's modules require or, in a
// workspace, all of its modules do.
func (c *Change) required(ctx context.Context) (string, error) {
	if err := write(c.file, c.modFile()); err != nil {
		return "", err
	}
	if c.work == "" {
		s, err := c.selected(ctx, []string{"GOWORK=off"}, "-mod=mod", "-modfile="+c.modFile())
		return s.Version, err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(c.Dir, "go.mod"): c.modFile(), filepath.Join(c.Dir, "go.sum"): filepath.Join(c.at, "go.sum"),
	}})
	name := filepath.Join(c.at, "overlay.json")
	if err := errors.Join(err, os.WriteFile(name, overlay, 0o600)); err != nil {
		return "", err
	}
	s, err := c.selected(ctx, nil, "-mod=readonly", "-overlay="+name)
	if err == nil && s.Replace != nil && s.base(c.Dir) == "" {
		err = fmt.Errorf("the workspace %s replaces the driver already, by %s: remove that line first", c.work, s.replacement())
	}
	return s.Version, err
}

// tidy completes the copies for what the application now requires. After has them with the application's line ends.
func (c *Change) tidy(ctx context.Context) (err error) {
	if err := write(c.file, c.modFile()); err != nil {
		return err
	}
	c.Progress("go mod tidy")
	if _, err := c.onCopies(ctx, "mod tidy"); err != nil {
		return err
	}
	if c.vendored {
		c.Progress("go mod vendor")
		if _, err := c.onCopies(ctx, "mod vendor", "-o", filepath.Join(c.at, "vendor")); err != nil {
			return err
		}
	}
	c.After, err = tree(c.at, c.vendored)
	for _, name := range append([]string{modules}, texts...) {
		if text, ok := c.After[name]; ok && strings.Contains(string(c.Before[name]), "\r\n") {
			c.After[name] = []byte(strings.ReplaceAll(string(unixLines(text)), "\n", "\r\n"))
		}
	}
	return err
}

// choose returns the lowest base that is not below the required version, or the wanted one. As with any requirement in go.mod,
// the application may get a newer driver than it asks for, never an older one.
func choose(bases []string, wanted, required string) (string, error) {
	for _, base := range bases {
		if semver.Compare(base, required) >= 0 && (wanted == "" || wanted == base) {
			return base, nil
		}
	}
	switch {
	case wanted == "":
		return "", fmt.Errorf("%s of the driver is required, which is newer than every base (%s): a fork of an older one would be "+
			"a step back; tools/fork/README.md says how a base is added", required, strings.Join(bases, ", "))
	case slices.Contains(bases, wanted):
		return "", fmt.Errorf("%s of the driver is required, and the fork of %s would be a step back; leave --base out", required,
			wanted)
	}
	return "", fmt.Errorf("there is no base %s; there are %s", wanted, strings.Join(bases, ", "))
}

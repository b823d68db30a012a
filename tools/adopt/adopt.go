// Package adopt puts the fork into an application's go.mod, and takes it out again, with the go command.
package adopt

import (
	"bytes"
	"context"
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

// Driver is the module path of upstream's driver.
const Driver = "go.mongodb.org/mongo-driver/v2"

// Application is a module that uses the driver.
type Application struct {
	// Dir is the folder of its go.mod, Project the repository of the fork.
	Dir     string
	Project *fork.Project
	// Progress is called with the name of each step that takes long, when the step begins.
	Progress func(step string)
}

// Options say how Change changes an application; as kong takes them.
type Options struct {
	Undo      bool   `xor:"mode" help:"Restore upstream's driver, and the version that was required."`
	Release   bool   `help:"Use the released version from a module proxy instead of the folder in build/."`
	SkipBuild bool   `help:"Do not build the application."`
	Base      string `kong:"-"` // the version of upstream whose fork is used; by default the lowest that fits
}

// Change is a change of an application.
type Change struct {
	// Module is the application's module path.
	Module string
	// Required is the driver version in effect without the fork. Base is the version that the fork is built on; it is empty if the fork
	// was removed.
	Required, Base string
	// Diff is what has changed in go.mod.
	Diff string
	// Notes are the effects that a reader of the diff could miss. Effect is what Check says of the changed application.
	Notes  []string
	Effect string
}

// Change puts the fork into the application, or removes it. If that fails, the application's files are what they were.
func (a Application) Change(ctx context.Context, o Options) (c *Change, err error) {
	file, err := parse(a.Dir)
	if err := errors.Join(err, a.foreign()); err != nil {
		return nil, err
	}
	before, err := a.files()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.restore(context.WithoutCancel(ctx), before))
		}
	}()
	c = &Change{Module: file.Module.Mod.Path}
	if o.Undo {
		err = a.undo(c, file)
	} else {
		err = a.use(ctx, c, file, o)
	}
	if err := errors.Join(err, write(file)); err != nil {
		return nil, err
	}
	if err := a.complete(ctx, o); err != nil {
		return nil, err
	}
	if !o.Undo {
		if c.Effect, err = a.Check(ctx, ""); err != nil {
			return nil, fmt.Errorf("the fork would not be in effect: %w", err)
		}
	}
	after, err := a.files()
	c.Diff = filetree.Diff("a/go.mod", before["go.mod"], "b/go.mod", after["go.mod"])
	return c, err
}

// use prepares go.mod, and go.sum for a release, for the fork.
func (a Application) use(ctx context.Context, c *Change, file *modfile.File, o Options) error {
	if err := errors.Join(removeFork(file, a.Dir), write(file)); err != nil {
		return err
	}
	bases, err := a.Project.Bases()
	if err != nil {
		return err
	}
	flags := []string{"-mod=mod", ownFile}
	if work, err := a.goCommand(ctx, nil, "env", "GOWORK"); err != nil {
		return err
	} else if strings.TrimPrefix(work, "off") != "" { // all its modules decide on the version
		flags = []string{"-mod=readonly"}
	}
	s, err := a.selected(ctx, flags...)
	if err != nil {
		return err
	}
	if s.Replace != nil && s.base(a.Dir) == "" {
		return fmt.Errorf("go.work replaces the driver already, by %s: remove that line first", s.replacement())
	}
	c.Required = s.Version
	if c.Base, err = choose(bases, o.Base, c.Required); err != nil {
		return err
	}
	list, err := a.Project.Advisories()
	if err != nil {
		return err
	}
	if c.Notes, err = mend(file, list, c.Base); err != nil {
		return err
	}
	target, err := a.fork(ctx, c.Base, o.Release)
	if err != nil {
		return err
	}
	return putFork(file, c.Base, target)
}

// fork returns what takes the driver's place: a folder, or a module version, of which go.sum then has the known hashes: the go command
// refuses any other content.
func (a Application) fork(ctx context.Context, base string, release bool) (target module.Version, err error) {
	a.Progress("making the fork of " + base)
	project := a.Project.On(base)
	if !release {
		_, out, _, err := project.Build(ctx)
		return module.Version{Path: relative(a.Dir, out.Dir)}, err
	}
	built, err := project.Fork(ctx, false)
	if err != nil {
		return target, err
	}
	if target, err = built.Released(); err != nil {
		return target, err
	}
	known, err := project.Sums(ctx, target.Version)
	if err != nil {
		return target, err
	}
	now, err := a.files()
	now["go.sum"] = []byte(string(now["go.sum"]) + "\n" + known)
	if err := errors.Join(err, now.Put(a.Dir, "go.sum")); err != nil {
		return target, err
	}
	a.Progress("go mod download " + target.String())
	// Tidy would repeat what is wrong with it for each package.
	if _, err = a.goCommand(ctx, []string{"GOWORK=off"}, "mod", "download", ownFile, target.String()); err != nil {
		err = fmt.Errorf("%w\nset GOPROXY=<address of the release>,… as docs/builder.md (Using a release) says; if the release "+
			"that is served there is not that of this working copy, find out who has changed it", err)
	}
	return target, err
}

// undo prepares go.mod for upstream's driver: it restores the version that was required before.
func (a Application) undo(c *Change, file *modfile.File) error {
	if !slices.ContainsFunc(replacements(file), func(r *modfile.Replace) bool { return ours(r, a.Dir) }) {
		return fmt.Errorf("%s has no replace line of the fork", filepath.Join(a.Dir, "go.mod"))
	}
	c.Notes = []string{"what else use has raised in go.mod stays: compare with your version control"}
	return removeFork(file, a.Dir)
}

// ownFile lets the go command change the application's go.mod, whatever GOFLAGS say.
const ownFile = "-modfile=go.mod"

// complete tidies, builds and vendors the application.
func (a Application) complete(ctx context.Context, o Options) error {
	steps := [][]string{{"mod", "tidy", ownFile}}
	if !o.SkipBuild {
		steps = append(steps, []string{"build", ownFile, "-mod=mod", "-o", os.DevNull, "./..."})
	}
	if vendored(a.Dir) {
		steps = append(steps, []string{"mod", "vendor", ownFile})
	}
	for _, step := range steps {
		a.Progress("go " + strings.Join(step, " "))
		if _, err := a.goCommand(ctx, []string{"GOWORK=off"}, step...); err != nil && step[0] == "build" && ctx.Err() == nil {
			advice := "--skip-build skips the build"
			if o.Undo {
				advice = "take out of the code what only the fork has, or use --skip-build and do it then"
			}
			return fmt.Errorf("%w\n%s", err, advice)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// modules is the list without which the go command refuses a vendor folder.
const modules = "vendor/modules.txt"

// files reads the files that a change is about, as far as they are there.
func (a Application) files() (filetree.Tree, error) {
	t := filetree.Tree{}
	for _, name := range []string{"go.mod", "go.sum", modules} {
		data, err := os.ReadFile(filepath.Join(a.Dir, name))
		if err == nil {
			t[name] = data
		} else if !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	return t, nil
}

// restore makes go.mod, go.sum and the vendor folder what they were.
func (a Application) restore(ctx context.Context, before filetree.Tree) error {
	err := errors.Join(before.Put(a.Dir, "go.mod"), before.Put(a.Dir, "go.sum"))
	now, readErr := a.files()
	if !bytes.Equal(now[modules], before[modules]) {
		_, readErr = a.goCommand(ctx, []string{"GOWORK=off"}, "mod", "vendor", ownFile)
	}
	return errors.Join(err, readErr)
}

// foreign fails for a folder of the fork's own repository: whoever names one starts the go command there, and means another.
func (a Application) foreign() error {
	inside, err := filepath.Rel(realFolder(a.Project.Root), realFolder(a.Dir))
	if err != nil || !filepath.IsLocal(inside) {
		return nil
	}
	return fmt.Errorf("%s is in the fork's own repository, %s: name the folder of the application instead, such as use ../app, "+
		"relative to the folder that go -C names, or with its full path", a.Dir, a.Project.Root)
}

// goCommand runs the go command in the application's folder.
func (a Application) goCommand(ctx context.Context, env []string, args ...string) (string, error) {
	out, err := command.Output(ctx, a.Dir, env, "go", args...)
	return strings.TrimSpace(string(out)), err
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

// Package adopt puts the fork into an application's go.mod, and takes it out again, with the go command.
package adopt

import (
	"bytes"
	"cmp"
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

// Driver is the module path of upstream's driver; v1 is that of its first major version.
const (
	Driver = v1 + "/v2"
	v1     = "go.mongodb.org/mongo-driver"
)

// Application is a module that uses the driver.
type Application struct {
	// Dir is the folder of its go.mod, Project the repository of the fork.
	Dir      string
	Project  *fork.Project
	Progress func(step string) // called with the name of each step that takes long, when the step begins
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
	Module string // the application's module path
	// Required is the driver version in effect without the fork. Base is the version that the fork is built on; it is empty if the fork
	// was removed.
	Required, Base string
	Diff           string // what has changed in go.mod
	// Notes are the effects that a reader of the diff could miss. Effect is what Check says of the changed application.
	Notes  []string
	Effect string
}

// Change puts the fork into the application, or removes it. If that fails, the application's files are what they were.
func (a Application) Change(ctx context.Context, o Options) (c *Change, err error) {
	file, err := parse(a.Dir)
	before, readErr := a.files()
	if err := errors.Join(err, readErr, a.foreign()); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.restore(context.WithoutCancel(ctx), before))
		}
	}()
	c = &Change{Module: file.Module.Mod.Path}
	change := a.use
	if o.Undo {
		change = a.undo
	}
	if err = change(ctx, c, file, o); err == nil {
		err = a.complete(ctx, file, o)
	}
	if err == nil && !o.Undo {
		list, listErr := a.alone(ctx, "list", "-mod=mod", "-deps", "./...")
		if listErr == nil && !slices.Contains(strings.Fields(list), Driver+"/x/mongo/driver") {
			c.Notes = append(c.Notes, "it uses no package of the driver that sends commands: the fork changes nothing for it")
		}
		if c.Effect, err = a.Check(ctx, ""); err != nil {
			err = fmt.Errorf("the fork would not be in effect: %w", err)
		}
	}
	if err != nil {
		return nil, err
	}
	after, err := a.files()
	c.Diff = filetree.Diff("a/go.mod", unixLines(before["go.mod"]), "b/go.mod", unixLines(after["go.mod"]))
	return c, err
}

// unixLines returns a text with lines that end as the go command ends them.
func unixLines(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) }

// use prepares go.mod, and go.sum for a release, for the fork.
func (a Application) use(ctx context.Context, c *Change, file *modfile.File, o Options) error {
	bases, err := a.Project.Bases()
	list, listErr := a.Project.Advisories()
	work, workErr := a.goCommand(ctx, nil, "env", "GOWORK")
	if err := errors.Join(err, listErr, workErr, removeFork(file, a.Dir), write(file)); err != nil {
		return err
	}
	flags := []string{"-mod=mod", ownFile}
	if strings.TrimPrefix(work, "off") != "" { // all modules of the workspace decide on the version
		flags = []string{"-mod=readonly"}
	}
	s, err := a.selected(ctx, flags...)
	if err == nil && s.Replace != nil && s.base(a.Dir) == "" {
		err = fmt.Errorf("go.work replaces the driver already, by %s: remove that line first", s.replacement())
	}
	if err == nil {
		c.Required = s.Version
		c.Base, err = choose(bases, o.Base, c.Required)
	}
	if err == nil && file.Go == nil { // go mod tidy would add its own version, and change what the language means
		err = file.AddGoStmt("1.16")
	}
	if err != nil {
		return err
	}
	c.Notes, err = mend(file, list, c.Base)
	target, forkErr := a.fork(ctx, c.Base, o.Release)
	return errors.Join(err, forkErr, putFork(file, c.Base, target))
}

// fork returns what takes the driver's place: a folder, or a module version. Go.sum then has the known hashes of that, and the go command
// refuses to download any other content.
func (a Application) fork(ctx context.Context, base string, release bool) (target module.Version, err error) {
	a.Progress("making the fork of " + base)
	project := a.Project.On(base)
	if !release {
		_, out, _, err := project.Build(ctx)
		return module.Version{Path: relative(a.Dir, out.Dir)}, err
	}
	built, err := project.Fork(ctx, false)
	if err == nil {
		target, err = built.Released()
	}
	if err != nil {
		return target, err
	}
	known, from, err := project.Sums(ctx, target.Version)
	now, readErr := a.files()
	if err := errors.Join(err, readErr); err != nil {
		return target, err
	}
	now["go.sum"] = fmt.Append(now["go.sum"], "\n", known)
	if err := a.put(now, "go.sum"); err != nil {
		return target, err
	}
	a.Progress("go mod download " + target.String())
	// Tidy would repeat what is wrong with it for each package.
	if _, err = a.alone(ctx, "mod download", target.String()); err != nil {
		return target, fmt.Errorf("%w\nset GOPROXY=<address of the release>,… as docs/builder.md (Using a release) says; if the "+
			"release that is served there is not that of %s, find out who has changed it", err, from)
	}
	return target, nil
}

// undo prepares go.mod for upstream's driver: it restores the version that was required before.
func (a Application) undo(_ context.Context, c *Change, file *modfile.File, _ Options) error {
	if !slices.ContainsFunc(replacements(file), func(r *modfile.Replace) bool { return ours(r, a.Dir) }) {
		return fmt.Errorf("%s has no replace line of the fork", filepath.Join(a.Dir, "go.mod"))
	}
	c.Notes = []string{"what else use has raised in go.mod stays: compare with your version control"}
	return removeFork(file, a.Dir)
}

// complete writes go.mod, and tidies, builds and vendors the application.
func (a Application) complete(ctx context.Context, file *modfile.File, o Options) error {
	err := write(file)
	run := func(verb string, args ...string) {
		if err == nil {
			a.Progress("go " + strings.Join(append([]string{verb}, args...), " "))
			_, err = a.alone(ctx, verb, args...)
		}
	}
	if run("mod tidy"); err == nil && !o.SkipBuild {
		advice := "--skip-build skips the build"
		if o.Undo {
			advice = "take out of the code what only the fork has, or use --skip-build and do it then"
		}
		if run("build", "-mod=mod", "-o", os.DevNull, "./..."); err != nil {
			err = fmt.Errorf("%w\n%s", err, advice)
		}
	}
	if vendored(a.Dir) {
		run("mod vendor", "-o", realFolder(filepath.Join(a.Dir, "vendor"))) // to which a link may lead
	}
	return err
}

const (
	modules = "vendor/modules.txt" // the list without which the go command refuses a vendor folder
	ownFile = "-modfile=go.mod"    // lets the go command change the application's go.mod, whatever GOFLAGS say
)

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

// put makes a file what it was in files. Its mode stays, and a link that leads to it.
func (a Application) put(files filetree.Tree, name string) error {
	if data, stays := files[name]; stays {
		return os.WriteFile(filepath.Join(a.Dir, filepath.FromSlash(name)), data, 0o644)
	}
	return files.Put(a.Dir, name)
}

// restore makes go.mod, go.sum and the vendor folder what they were.
func (a Application) restore(ctx context.Context, before filetree.Tree) error {
	err := errors.Join(a.put(before, "go.mod"), a.put(before, "go.sum"))
	now, readErr := a.files()
	if readErr == nil && !bytes.Equal(now[modules], before[modules]) {
		_, readErr = a.alone(ctx, "mod vendor", "-o", realFolder(filepath.Join(a.Dir, "vendor")))
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

func (a Application) goCommand(ctx context.Context, env []string, args ...string) (string, error) {
	out, err := command.Output(ctx, a.Dir, env, "go", args...)
	return strings.TrimSpace(string(out)), err
}

// alone runs the go command on the application as if it were in no workspace.
func (a Application) alone(ctx context.Context, verb string, args ...string) (string, error) {
	return a.goCommand(ctx, []string{"GOWORK=off"}, slices.Concat(strings.Fields(verb), []string{ownFile}, args)...)
}

// choose returns the lowest base that is not below the required version, or the wanted one. As with any requirement in go.mod,
// the application may get a newer driver than it asks for, never an older one.
func choose(bases []string, wanted, required string) (string, error) {
	for _, base := range bases {
		if semver.Compare(base, required) >= 0 && (wanted == "" || wanted == base) {
			return base, nil
		}
	}
	if wanted == "" {
		return "", fmt.Errorf("%s of the driver is required, which is newer than every base (%s): a fork of an older one would be "+
			"a step back; tools/fork/README.md says how a base is added", required, strings.Join(bases, ", "))
	} else if slices.Contains(bases, wanted) {
		return "", fmt.Errorf("%s of the driver is required, and the fork of %s would be a step back; leave --base out", required,
			wanted)
	}
	return "", fmt.Errorf("there is no base %s; there are %s", wanted, strings.Join(bases, ", "))
}

// The comment at the end of our replace line says what go.mod required before, for an undo without a record.
const (
	marker     = "// mongofork use"
	markBefore = ": before, "
	markAbsent = "nothing"
	release    = "-fork." // begins the pre-release in the version of a released fork
)

func parse(dir string) (*modfile.File, error) {
	name := filepath.Join(dir, "go.mod")
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%w: name the folder of the application's go.mod, relative to the folder that go -C names", err)
	}
	file, err := modfile.Parse(name, data, nil)
	if err == nil && file.Module == nil {
		err = fmt.Errorf("%s has no module line", name)
	}
	return file, err
}

func write(file *modfile.File) error {
	data, err := file.Format()
	return errors.Join(err, os.WriteFile(file.Syntax.Name, data, 0o644))
}

// putFork requires the base of the fork and replaces only that version. If the application or a dependency requires a newer
// driver later, it gets upstream's, never an older driver.
func putFork(file *modfile.File, base string, target module.Version) error {
	before := markAbsent
	if r := requirement(file, Driver); r != nil {
		before = r.Mod.Version
	}
	if err := errors.Join(file.AddRequire(Driver, base), file.AddReplace(Driver, base, target.Path, target.Version)); err != nil {
		return err
	}
	for _, r := range replacements(file) {
		r.Syntax.Suffix = []modfile.Comment{{Token: marker + markBefore + before, Suffix: true}}
	}
	file.Cleanup()
	return nil
}

// removeFork removes our replace line, if any, and restores the former requirement unless the application now requires another
// version. A foreign replace line is an error.
func removeFork(file *modfile.File, dir string) error {
	for _, r := range replacements(file) {
		if !ours(r, dir) {
			return fmt.Errorf("%s replaces the driver already: remove the line %q first", file.Syntax.Name,
				strings.Join(r.Syntax.Token, " "))
		}
		old, before := r.Old, ""
		if len(r.Syntax.Suffix) > 0 {
			before, _ = strings.CutPrefix(r.Syntax.Suffix[0].Token, marker+markBefore)
		}
		err := file.DropReplace(old.Path, old.Version)
		required := requirement(file, Driver)
		switch {
		case err != nil || old.Version != "" && (required == nil || required.Mod != old):
		case before == markAbsent:
			err = file.DropRequire(Driver)
		case module.Check(Driver, before) == nil:
			err = file.AddRequire(Driver, before)
		}
		if err != nil {
			return err
		}
	}
	file.Cleanup()
	return nil
}

func requirement(file *modfile.File, path string) *modfile.Require {
	for _, r := range file.Require {
		if r.Mod.Path == path {
			return r
		}
	}
	return nil
}

func replacements(file *modfile.File) []*modfile.Replace {
	return slices.DeleteFunc(slices.Clone(file.Replace), func(r *modfile.Replace) bool { return r.Old.Path != Driver })
}

// ours reports whether a replace line was written by use, or leads to the fork: a version of its own, or a folder that holds it.
func ours(r *modfile.Replace, dir string) bool {
	if len(r.Syntax.Suffix) > 0 && strings.HasPrefix(r.Syntax.Suffix[0].Token, marker) {
		return true
	}
	if r.New.Version != "" {
		return strings.HasPrefix(semver.Prerelease(r.New.Version), release)
	}
	folder := filepath.FromSlash(r.New.Path)
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(dir, folder)
	}
	return constant(folder, patchLevel) != ""
}

// realFolder returns the absolute path of a folder without links, as far as that is possible.
func realFolder(dir string) string {
	abs, err := filepath.Abs(dir)
	real, linkErr := filepath.EvalSymlinks(abs)
	if err != nil || linkErr != nil {
		return cmp.Or(abs, dir)
	}
	return real
}

// relative returns a folder in the way that go.mod files name it, relative to the application's folder. The folder stays absolute if a link
// leads to the application, because the go command would start elsewhere, and if it is on another volume.
func relative(app, folder string) string {
	abs, absErr := filepath.Abs(app)
	rel, err := filepath.Rel(abs, folder)
	if err != nil || absErr != nil || abs != realFolder(app) {
		return folder
	}
	if rel = filepath.ToSlash(rel); !modfile.IsDirectoryPath(rel) {
		rel = "./" + rel
	}
	return rel
}

// mend makes the application require versions without known vulnerabilities of the modules that the fork of a base requires, unless that
// would raise its go line, and says so. Go mod tidy then drops those that the application does not use.
func mend(file *modfile.File, list []fork.Advisory, base string) (notes []string, err error) {
	for _, a := range list {
		d, r := a.Dependency, (*modfile.Require)(nil)
		if d != nil {
			r = requirement(file, d.Module)
		}
		switch {
		case d == nil || !a.Affects(base) || r != nil && semver.Compare(r.Mod.Version, d.Fixed) >= 0:
			continue
		case semver.Compare("v"+file.Go.Version, "v"+d.Go) < 0:
			notes = append(notes, fmt.Sprintf("%s of %s would mend the vulnerability %s, but needs a go line of at least %s",
				d.Fixed, d.Module, a.ID, d.Go))
			continue
		case r == nil:
			file.AddNewRequire(d.Module, d.Fixed, true)
		default:
			err = errors.Join(err, file.AddRequire(d.Module, d.Fixed))
		}
		notes = append(notes, fmt.Sprintf("%s of %s is required, if anything uses it, because of the vulnerability %s",
			d.Fixed, d.Module, a.ID))
	}
	return notes, err
}

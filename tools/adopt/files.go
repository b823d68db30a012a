package adopt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"mongofork/tools/fork/filetree"
)

// Files are files of an application, below its folder, before and after a change of them.
type Files struct{ Before, After filetree.Tree }

// Paths returns those that change, in order.
func (f Files) Paths() []string { return filetree.Changed(f.Before, f.After) }

// Diff compares the lines of a file before and after, whatever ends them.
func (f Files) Diff(path string) string {
	return filetree.Diff("a/"+path, unixLines(f.Before[path]), "b/"+path, unixLines(f.After[path]))
}

func unixLines(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) }

// recordFile is the place where Use leaves for Undo what it changed in the application.
func (a Application) recordFile() string {
	return filepath.Join(a.Root, "build", "use", filetree.Digest([]byte(a.Dir))[:16]+".json")
}

// record is what a Use has changed, for Undo. Former is what the one before has changed: if this one was killed, the files are as that one
// left them.
type record struct {
	Files
	Former *record
}

// record reads the record; nil if there is none.
func (a Application) record() (r *record, err error) {
	data, err := os.ReadFile(a.recordFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return r, errors.Join(err, json.Unmarshal(data, &r))
}

// remember makes the record what Undo needs after the change, and until it is complete.
func (c *Change) remember() error {
	if c.origin == nil || c.Base == "" {
		return nil
	}
	r := record{Files: Files{c.origin, c.After}}
	paths := r.Paths()
	r.Files = Files{with(nil, c.origin, paths), with(nil, c.After, paths)}
	if c.record != nil {
		r.Former = &record{Files: c.record.Files}
	}
	data, err := json.Marshal(r)
	return errors.Join(err, filetree.Replace(c.app.recordFile(), data))
}

// hold reports whether a tree has what the change has made of the files.
func (f Files) hold(now filetree.Tree) bool {
	return maps.EqualFunc(with(nil, now, f.Paths()), with(nil, f.After, f.Paths()), bytes.Equal)
}

// with returns a tree with some files as another one has them.
func with(tree, other filetree.Tree, paths []string) filetree.Tree {
	all := filetree.Tree{}
	maps.Copy(all, tree)
	for _, path := range paths {
		if data, exists := other[path]; exists {
			all[path] = data
		} else {
			delete(all, path)
		}
	}
	return all
}

func vendored(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "vendor", "modules.txt"))
	return err == nil
}

// tree reads go.mod, go.sum and, if it is wanted, the vendor folder below dir.
func tree(dir string, vendor bool) (filetree.Tree, error) {
	t := filetree.Tree{}
	for _, name := range texts {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			t[name] = data
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if !vendor {
		return t, nil
	}
	folder, err := filepath.EvalSymlinks(filepath.Join(dir, "vendor"))
	if err != nil {
		return nil, err
	}
	files, err := filetree.Read(folder)
	for name, data := range files {
		t["vendor/"+name] = data
	}
	return t, err
}

// The comment at the end of our replace line says what go.mod required before, for an Undo without a record.
const (
	marker     = "// mongofork use"
	markBefore = ": before, "
	markAbsent = "nothing"
	// release begins the pre-release in the version of a released fork.
	release = "-fork."
)

func parse(dir string) (*modfile.File, error) {
	name := filepath.Join(dir, "go.mod")
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%w: name the folder of the application's go.mod", err)
	}
	file, err := modfile.Parse(name, data, nil)
	if err == nil && file.Module == nil {
		err = fmt.Errorf("%s has no module line", name)
	}
	return file, err
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
		switch {
		case err != nil || old.Version != "" &&
			!slices.ContainsFunc(file.Require, func(r *modfile.Require) bool { return r.Mod == old }):
		case before == markAbsent:
			err = file.DropRequire(Driver)
		case module.Check("example.com/m/v2", before) == nil:
			err = file.AddRequire(Driver, before)
		}
		if err != nil {
			return err
		}
	}
	file.Cleanup()
	return nil
}

// requirement returns the line that requires a module; nil if there is none.
func requirement(file *modfile.File, path string) *modfile.Require {
	for _, r := range file.Require {
		if r.Mod.Path == path {
			return r
		}
	}
	return nil
}

// replacements returns the replace lines of the driver.
func replacements(file *modfile.File) []*modfile.Replace {
	return slices.DeleteFunc(slices.Clone(file.Replace), func(r *modfile.Replace) bool { return r.Old.Path != Driver })
}

// hasOurs reports whether the file puts the fork in the driver's place.
func hasOurs(file *modfile.File, dir string) bool {
	return slices.ContainsFunc(replacements(file), func(r *modfile.Replace) bool { return ours(r, dir) })
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
	return constant(folder, "fork.go", patchLevel) != ""
}

// left names the other members of the workspace that stay on upstream's driver where they are built without it.
func (c *Change) left() (notes []string) {
	data, err := os.ReadFile(c.work.file)
	if err != nil {
		return nil // there is none, or the go command will say what is wrong with it
	}
	work, err := modfile.ParseWork(c.work.file, data, nil)
	if err != nil {
		return nil
	}
	for _, use := range work.Use {
		dir := filepath.FromSlash(use.Path)
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(filepath.Dir(c.work.file), dir)
		}
		member, err := parse(dir)
		if err != nil || member.Module.Mod.Path == c.file.Module.Mod.Path || hasOurs(member, dir) {
			continue
		}
		if requirement(member, Driver) != nil {
			notes = append(notes, member.Module.Mod.Path+
				" has the fork only in the workspace, and upstream's driver with GOWORK=off: "+
				c.app.CommandLine(dir)+" puts the fork there, too")
		}
	}
	return notes
}

package adopt

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

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
	for _, r := range file.Require {
		if r.Mod.Path == Driver {
			before = r.Mod.Version
		}
	}
	if before != base {
		if err := file.AddRequire(Driver, base); err != nil {
			return err
		}
	}
	if err := file.AddReplace(Driver, base, target.Path, target.Version); err != nil {
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
		if slices.ContainsFunc(member.Require, func(r *modfile.Require) bool { return r.Mod.Path == Driver }) {
			notes = append(notes, member.Module.Mod.Path+
				" has the fork only in the workspace, and upstream's driver with GOWORK=off: "+
				c.app.CommandLine(dir)+" puts the fork there, too")
		}
	}
	return notes
}

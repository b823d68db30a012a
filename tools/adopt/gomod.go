package adopt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"mongofork/tools/fork"
)

// The comment at the end of our replace line says what go.mod required before, for an undo without a record.
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
		return nil, fmt.Errorf("%w: name the folder of the application's go.mod, relative to the folder that go -C names", err)
	}
	file, err := modfile.Parse(name, data, nil)
	if err == nil && file.Module == nil {
		err = fmt.Errorf("%s has no module line", name)
	}
	return file, err
}

// write writes a go.mod file in its place.
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
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return dir
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

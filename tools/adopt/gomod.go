package adopt

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// The comment at the end of our replace line records what go.mod required before, for Undo.
const (
	marker     = "// mongofork use"
	markBefore = ": before, "
	markAbsent = "nothing"
)

// putFork requires the base of the fork and replaces only that version. If the application or a dependency requires a newer
// driver later, it gets upstream's, never an older driver.
func putFork(file *modfile.File, driver, target module.Version, required string) error {
	before := markAbsent
	for _, r := range file.Require {
		if r.Mod.Path == driver.Path {
			before = r.Mod.Version
		}
	}
	if before == markAbsent || required != driver.Version {
		if err := file.AddRequire(driver.Path, driver.Version); err != nil {
			return err
		}
	}
	if err := file.AddReplace(driver.Path, driver.Version, target.Path, target.Version); err != nil {
		return err
	}
	for _, r := range file.Replace {
		if r.Old == driver {
			r.Syntax.Suffix = []modfile.Comment{{Token: marker + markBefore + before, Suffix: true}}
		}
	}
	file.Cleanup()
	return nil
}

// removeFork removes our replace line, if any, and restores the former requirement unless the application now requires another
// version. A foreign replace line is an error.
func removeFork(file *modfile.File, driver, dir string) error {
	for _, r := range replacements(file, driver) {
		if !ours(r, dir) {
			return fmt.Errorf("%s replaces the driver already: remove the line %q first", file.Syntax.Name, strings.Join(r.Syntax.Token, " "))
		}
		before := mark(r)
		if err := file.DropReplace(r.Old.Path, r.Old.Version); err != nil {
			return err
		}
		var err error
		switch {
		case r.Old.Version != "" && !requires(file, r.Old):
		case before == markAbsent:
			err = file.DropRequire(driver)
		case before != "":
			err = file.AddRequire(driver, before)
		}
		if err != nil {
			return err
		}
	}
	file.Cleanup()
	return nil
}

// requires reports whether the file requires exactly that version.
func requires(file *modfile.File, wanted module.Version) bool {
	return slices.ContainsFunc(file.Require, func(r *modfile.Require) bool { return r.Mod == wanted })
}

// hasOurs reports whether the fork is in use.
func hasOurs(file *modfile.File, driver, dir string) bool {
	for _, r := range replacements(file, driver) {
		if ours(r, dir) {
			return true
		}
	}
	return false
}

// replacements returns a copy of the replace lines of the driver.
func replacements(file *modfile.File, driver string) []modfile.Replace {
	var list []modfile.Replace
	for _, r := range file.Replace {
		if r.Old.Path == driver {
			list = append(list, *r)
		}
	}
	return list
}

// ours reports whether a replace line was written by use, or leads to a folder that holds the fork.
func ours(r modfile.Replace, dir string) bool {
	if len(r.Syntax.Suffix) > 0 && strings.HasPrefix(r.Syntax.Suffix[0].Token, marker) {
		return true
	}
	if r.New.Version != "" {
		return r.New.Path == r.Old.Path
	}
	folder := filepath.FromSlash(r.New.Path)
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(dir, folder)
	}
	return isFork(filepath.Join(folder, "version"))
}

// isFork reports whether a folder of package version is that of the fork.
func isFork(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "fork.go"))
	return err == nil
}

// mark returns the former version from the line's comment, or an empty string.
func mark(r modfile.Replace) string {
	if len(r.Syntax.Suffix) == 0 {
		return ""
	}
	before, _ := strings.CutPrefix(r.Syntax.Suffix[0].Token, marker+markBefore)
	if before != markAbsent && module.Check("example.com/m/v2", before) != nil {
		return ""
	}
	return before
}

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

const (
	// marker is the comment at the end of our replace line.
	marker = "// mongofork use"
	// release begins the pre-release in the version of a released fork.
	release = "-fork."
)

// putFork requires the base of the fork and replaces only that version. If the application or a dependency requires a newer
// driver later, it gets upstream's, never an older driver.
func putFork(file *modfile.File, driver, target module.Version) error {
	if err := file.AddRequire(driver.Path, driver.Version); err != nil {
		return err
	}
	if err := file.AddReplace(driver.Path, driver.Version, target.Path, target.Version); err != nil {
		return err
	}
	for _, r := range file.Replace {
		if r.Old == driver {
			r.Syntax.Suffix = []modfile.Comment{{Token: marker, Suffix: true}}
		}
	}
	file.Cleanup()
	return nil
}

// removeFork removes our replace line, if any. A foreign replace line is an error.
func removeFork(file *modfile.File, driver, dir string) error {
	for _, r := range replacements(file, driver) {
		if !ours(r, dir) {
			return fmt.Errorf("%s replaces the driver already: remove the line %q first", file.Syntax.Name, strings.Join(r.Syntax.Token, " "))
		}
		if err := file.DropReplace(r.Old.Path, r.Old.Version); err != nil {
			return err
		}
	}
	file.Cleanup()
	return nil
}

// hasOurs reports whether the file puts the fork in the driver's place.
func hasOurs(file *modfile.File, driver, dir string) bool {
	return slices.ContainsFunc(replacements(file, driver), func(r modfile.Replace) bool { return ours(r, dir) })
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

// ours reports whether a replace line was written by use, or leads to the fork: a version of its own, or a folder that holds it.
func ours(r modfile.Replace, dir string) bool {
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
	return isFork(folder)
}

// isFork reports whether a folder holds the fork.
func isFork(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "version", "fork.go"))
	return err == nil
}

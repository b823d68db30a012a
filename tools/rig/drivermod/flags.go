package drivermod

import (
	"os"
	"path/filepath"

	"golang.org/x/mod/modfile"
)

// Folder returns the folder that the go.mod of the module in a folder replaces the driver with, or nothing if it takes a
// released driver.
func Folder(module string) (string, error) {
	parsed, err := Parse(module)
	if err != nil {
		return "", err
	}
	for _, r := range parsed.Replace {
		if r.Old.Path != Path || !modfile.IsDirectoryPath(r.New.Path) {
			continue
		}
		if folder := filepath.FromSlash(r.New.Path); filepath.IsAbs(folder) {
			return filepath.Clean(folder), nil
		}
		return filepath.Join(module, filepath.FromSlash(r.New.Path)), nil
	}
	return "", nil
}

// Flags returns the flags of the go command, run in the folder of a module, that build it with the driver in another folder
// than its go.mod says. There are none if go.mod says the same, or takes a released driver. The folder is where the changed
// copy of go.mod goes.
func Flags(module, driver, folder string) ([]string, error) {
	named, err := Folder(module)
	if err != nil || named == "" || named == filepath.Clean(driver) {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	replaced, _, err := Replace(module, driver, folder)
	if err != nil {
		return nil, err
	}
	if replaced, err = filepath.Rel(module, replaced); err != nil {
		return nil, err
	}
	// Another version of the driver may want other versions of its dependencies; the copy of go.mod may say so.
	return []string{"-mod=mod", "-modfile=" + filepath.ToSlash(replaced)}, nil
}

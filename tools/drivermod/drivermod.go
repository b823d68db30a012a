// Package drivermod builds a module with another driver than its go.mod says, without changing the file.
package drivermod

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
)

// Path is the module path of upstream's driver, and thereby of the fork.
const Path = "go.mongodb.org/mongo-driver/v2"

// Replace writes a copy of the go.mod of the module in a folder to another folder, see Copy, with a replace line for the
// driver. It returns the copy's path and the line.
func Replace(module, driver, to string) (path, line string, err error) {
	path, err = Copy(module, to, func(parsed *modfile.File) error {
		if err := parsed.AddReplace(Path, "", driver, ""); err != nil {
			return err
		}
		line = replaceLine(parsed)
		return nil
	})
	return path, line, err
}

// Copy writes a changed copy of the go.mod of the module in a folder to another folder, and its go.sum beside it, where the go
// command looks for it when -modfile names the copy. It returns the copy's path.
func Copy(module, to string, change func(*modfile.File) error) (string, error) {
	parsed, err := Parse(module)
	if err != nil {
		return "", err
	}
	if err := change(parsed); err != nil {
		return "", err
	}
	changed, err := parsed.Format()
	if err != nil {
		return "", err
	}
	sums, err := os.ReadFile(filepath.Join(module, "go.sum"))
	if err != nil {
		return "", err
	}
	path := filepath.Join(to, "go.mod")
	if err := os.WriteFile(path, changed, 0o600); err != nil {
		return "", err
	}
	return path, os.WriteFile(filepath.Join(to, "go.sum"), sums, 0o600)
}

// Parse reads the go.mod of the module in a folder.
func Parse(module string) (*modfile.File, error) {
	source := filepath.Join(module, "go.mod")
	content, err := os.ReadFile(source)
	if err != nil {
		return nil, err
	}
	return modfile.Parse(source, content, nil)
}

// Module returns the folder of the module that a folder belongs to.
func Module(folder string) (string, error) {
	for at := filepath.Clean(folder); ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s: no go.mod in it or above it", folder)
		}
	}
}

// Required returns the version of the driver that the module in a folder requires.
func Required(module string) (string, error) {
	parsed, err := Parse(module)
	if err != nil {
		return "", err
	}
	for _, r := range parsed.Require {
		if r.Mod.Path == Path {
			return r.Mod.Version, nil
		}
	}
	return "", fmt.Errorf("%s does not require %s", parsed.Syntax.Name, Path)
}

// replaceLine returns the line as it stands in the file.
func replaceLine(module *modfile.File) string {
	for _, r := range module.Replace {
		if r.Old.Path == Path {
			return strings.Join(r.Syntax.Token, " ")
		}
	}
	return ""
}

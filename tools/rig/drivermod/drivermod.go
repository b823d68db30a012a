// Package drivermod builds a module with another driver than its go.mod says, without changing the file.
package drivermod

import (
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

// replaceLine returns the line as it stands in the file.
func replaceLine(module *modfile.File) string {
	for _, r := range module.Replace {
		if r.Old.Path == Path {
			return strings.Join(r.Syntax.Token, " ")
		}
	}
	return ""
}

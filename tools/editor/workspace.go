// Package editor shows an editor the overlay's files where they lie, as part of the assembled fork. It answers gopls like the
// driver of golang.org/x/tools/go/packages, with the overlay's files instead of their copies below build/.
package editor

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// Workspace is a checkout of this repository and the fork that was built in it.
type Workspace struct {
	// Root is the folder of the repository.
	Root string
	// Fork is the folder of the assembled fork.
	Fork string
	// Overlay are the overlay's folders, relative to the root.
	Overlay []string
}

// extends begins a directive whose declaration is not part of the assembled file.
const extends = "\n//fork:extend "

// Source returns the overlay's file for one in the assembled fork, or the path itself where there is none. A file that extends
// a struct has none: in a package with upstream's struct, its own would declare the name again, and neither would have all
// fields.
func (w Workspace) Source(path string) string {
	source := w.counterpart(path, w.Fork, w.Root)
	if content, err := os.ReadFile(source); err != nil || bytes.Contains(content, []byte(extends)) {
		return path
	}
	return source
}

// Assembled returns the file in the assembled fork for one of the overlay, or the path itself if there is none.
func (w Workspace) Assembled(path string) string {
	return w.counterpart(path, w.Root, w.Fork)
}

// counterpart returns the file with the same relative path below another folder, if it is the overlay's and exists.
func (w Workspace) counterpart(path, from, to string) string {
	relative, err := filepath.Rel(from, path)
	if err != nil || !w.inOverlay(relative) {
		return path
	}
	other := filepath.Join(to, relative)
	if info, err := os.Stat(other); err != nil || !info.Mode().IsRegular() {
		return path
	}
	return other
}

func (w Workspace) inOverlay(relative string) bool {
	return slices.ContainsFunc(w.Overlay, func(folder string) bool {
		return strings.HasPrefix(filepath.ToSlash(relative), folder+"/")
	})
}

// Modules returns the folders of the repository's modules, the fork among them.
func (w Workspace) Modules() ([]string, error) {
	modules := []string{w.Fork}
	err := filepath.WalkDir(w.Root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != w.Root && (path == filepath.Join(w.Root, "build") || strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata"):
			return fs.SkipDir
		case entry.Name() == "go.mod":
			modules = append(modules, filepath.Dir(path))
		}
		return nil
	})
	return modules, err
}

// WriteWork writes a go.work with all modules, in which the fork replaces the driver.
func (w Workspace) WriteWork(file string, modules []string) error {
	work := &modfile.WorkFile{Syntax: &modfile.FileSyntax{Name: file}}
	if err := work.AddGoStmt("1.25.0"); err != nil {
		return err
	}
	for _, module := range modules {
		if err := work.AddUse(filepath.ToSlash(module), ""); err != nil {
			return err
		}
	}
	work.Cleanup()
	return os.WriteFile(file, modfile.Format(work.Syntax), 0o600)
}

// Patterns turns the patterns of a request into those of the go command: a file of the overlay is one of the fork, and all
// packages below a folder are those of all modules there.
func (w Workspace) Patterns(dir string, patterns, modules []string) []string {
	var asked []string
	for _, pattern := range patterns {
		if file, ok := strings.CutPrefix(pattern, "file="); ok {
			if !filepath.IsAbs(file) {
				file = filepath.Join(dir, file)
			}
			asked = append(asked, "file="+w.Assembled(file))
			continue
		}
		below, ok := strings.CutSuffix(pattern, "/...")
		if !ok || !isPath(below) {
			asked = append(asked, w.folder(dir, pattern))
			continue
		}
		if !filepath.IsAbs(below) {
			below = filepath.Join(dir, below)
		}
		asked = append(asked, w.below(below, modules)...)
	}
	return asked
}

// folder returns the fork's folder for one that holds files of the overlay.
func (w Workspace) folder(dir, pattern string) string {
	if !isPath(pattern) {
		return pattern
	}
	if !filepath.IsAbs(pattern) {
		pattern = filepath.Join(dir, pattern)
	}
	relative, err := filepath.Rel(w.Root, pattern)
	if err == nil && w.inOverlay(relative+"/") {
		return filepath.Join(w.Fork, relative)
	}
	return pattern
}

// below returns the patterns for all packages of the modules below a folder, and for those of the fork that the overlay has files
// in.
func (w Workspace) below(folder string, modules []string) []string {
	var asked []string
	for _, module := range modules {
		if module != w.Fork && within(module, folder) {
			asked = append(asked, module+"/...")
		}
	}
	if len(asked) == 0 {
		asked = append(asked, folder+"/...")
	}
	for _, overlay := range w.Overlay {
		if within(filepath.Join(w.Root, overlay), folder) {
			asked = append(asked, filepath.Join(w.Fork, overlay)+"/...")
		}
	}
	return asked
}

func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+string(filepath.Separator))
}

func isPath(pattern string) bool {
	return filepath.IsAbs(pattern) || pattern == "." || strings.HasPrefix(pattern, "./") || strings.HasPrefix(pattern, "../")
}

// Open returns the workspace around a folder, for a base that is built.
func Open(root, base string, overlay []string) (Workspace, error) {
	w := Workspace{Root: root, Fork: filepath.Join(root, "build", base), Overlay: overlay}
	if _, err := os.Stat(filepath.Join(w.Fork, "go.mod")); err != nil {
		return w, fmt.Errorf("the fork is not built; run: make fork BASE=%s: %w", base, err)
	}
	return w, nil
}

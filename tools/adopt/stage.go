package adopt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"mongofork/tools/fork/filetree"
)

// stage is a folder with copies of the application's go.mod and go.sum, which the go command reads and writes in their place, and
// of the future vendor folder.
type stage struct {
	app      Application
	at       string // the folder of the copies
	file     *modfile.File
	before   filetree.Tree // the application's files
	vendored bool
}

func newStage(app Application, file *modfile.File) (*stage, error) {
	s := &stage{app: app, file: file}
	_, err := os.Stat(filepath.Join(app.Dir, "vendor", "modules.txt"))
	s.vendored = err == nil
	if s.before, err = tree(app.Dir, s.vendored); err != nil {
		return nil, err
	}
	if s.at, err = os.MkdirTemp("", "mongofork-use-"); err != nil {
		return nil, err
	}
	if sums, ok := s.before["go.sum"]; ok {
		err = os.WriteFile(filepath.Join(s.at, "go.sum"), sums, 0o600)
	}
	return s, err
}

func (s *stage) modFile() string { return filepath.Join(s.at, "go.mod") }

// write writes the copy of go.mod.
func (s *stage) write() error {
	data, err := s.file.Format()
	return errors.Join(err, os.WriteFile(s.modFile(), data, 0o600))
}

// goRun runs the go command on the copies, for the application's module alone and without flags of the user's.
func (s *stage) goRun(ctx context.Context, args ...string) (string, error) {
	out, err := s.app.Run(ctx, s.app.Dir, []string{"GOWORK=off", "GOFLAGS="}, "go", args...)
	return strings.TrimSpace(string(out)), err
}

// required returns the driver version that is in effect without the fork.
func (s *stage) required(ctx context.Context) (string, error) {
	if err := s.write(); err != nil {
		return "", err
	}
	return s.goRun(ctx, "list", "-m", "-mod=mod", "-modfile="+s.modFile(), "-f", "{{.Version}}", s.app.Driver)
}

// putFork puts the fork in the place of its base, and reports what rises with it.
func (s *stage) putFork(ctx context.Context, base, target module.Version) (notes []string, err error) {
	if target.Version == "" {
		target.Path = relative(s.app.Dir, target.Path)
	}
	if s.file.Go == nil {
		// Go mod tidy would add its own version, and change what the language means.
		if err := s.file.AddGoStmt("1.16"); err != nil {
			return nil, err
		}
	}
	if err := putFork(s.file, base, target); err != nil {
		return nil, err
	}
	if err := s.tidy(ctx); err != nil {
		return nil, err
	}
	now, err := parse(s.at)
	if err == nil && now.Go.Version != s.file.Go.Version {
		notes = []string{"the go line of go.mod rises from " + s.file.Go.Version + " to " + now.Go.Version +
			": whoever builds the application, or imports it, needs that version of Go"}
	}
	return notes, err
}

// relative returns a folder as go.mod files name it, beginning with a dot, or as it is if it lies on another volume.
func relative(from, folder string) string {
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	rel, err := filepath.Rel(from, folder)
	if err != nil {
		return folder
	}
	rel = filepath.ToSlash(rel)
	if !modfile.IsDirectoryPath(rel) {
		rel = "./" + rel
	}
	return rel
}

// tidy completes the copies for what the application now requires.
func (s *stage) tidy(ctx context.Context) error {
	if err := s.write(); err != nil {
		return err
	}
	_, err := s.goRun(ctx, "mod", "tidy", "-modfile="+s.modFile())
	if err == nil && s.vendored {
		_, err = s.goRun(ctx, "mod", "vendor", "-modfile="+s.modFile(), "-o", filepath.Join(s.at, "vendor"))
	}
	return err
}

// edits returns how the copies differ from what the application has.
func (s *stage) edits() ([]Edit, error) {
	now, err := tree(s.at, s.vendored)
	if err != nil {
		return nil, err
	}
	var edits []Edit
	for _, path := range filetree.Changed(s.before, now) {
		edits = append(edits, Edit{Path: path, Before: s.before[path], After: now[path]})
	}
	return edits, nil
}

// build builds the application with the copies.
func (s *stage) build(ctx context.Context, skip bool) error {
	if skip {
		return nil
	}
	_, err := s.goRun(ctx, "build", "-mod=mod", "-modfile="+s.modFile(), "-o", os.DevNull, "./...")
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w\nthe application does not build; --skip-build skips the build", err)
	}
	return err
}

package adopt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mongofork/tools/command"

	"golang.org/x/mod/modfile"
)

// stage is a folder with copies of the application's go.mod and go.sum, which the go command reads and writes in their place, and
// of the future vendor folder.
type stage struct {
	dir      string // the application's
	at       string // the copies'
	file     *modfile.File
	run      command.RunFunc
	vendored bool
	env      []string
}

func newStage(ctx context.Context, dir string, file *modfile.File, run command.RunFunc) (s *stage, err error) {
	at, err := os.MkdirTemp("", "mongofork-use-")
	if err != nil {
		return nil, err
	}
	s = &stage{dir: dir, at: at, file: file, run: run}
	_, statErr := os.Stat(filepath.Join(dir, "vendor", "modules.txt"))
	s.vendored = statErr == nil
	flags, err := s.goEnv(ctx, "GOFLAGS")
	if err != nil {
		return nil, s.failed(err)
	}
	s.env = []string{"GOWORK=off", "GOFLAGS=" + withoutModFlags(flags)}
	sums, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, s.failed(err)
	}
	if err == nil {
		if err := os.WriteFile(filepath.Join(at, "go.sum"), sums, 0o600); err != nil {
			return nil, s.failed(err)
		}
	}
	return s, nil
}

// withoutModFlags removes the flags that are set here for each command.
func withoutModFlags(flags string) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(flags), func(f string) bool {
		name, _, _ := strings.Cut(strings.TrimLeft(f, "-"), "=")
		return name == "mod" || name == "modfile"
	}), " ")
}

// goEnv returns a setting of the go command for the application.
func (s *stage) goEnv(ctx context.Context, name string) (string, error) {
	out, err := s.run(ctx, s.dir, nil, "go", "env", name)
	return strings.TrimSpace(string(out)), err
}

func (s *stage) close() { os.RemoveAll(s.at) }

// failed discards the copies and returns the error.
func (s *stage) failed(err error) error {
	s.close()
	return err
}

func (s *stage) modFile() string { return filepath.Join(s.at, "go.mod") }

// dropOurs removes the fork from the copy.
func (s *stage) dropOurs(driver string) error { return removeFork(s.file, driver, s.dir) }

// write writes the copy of go.mod.
func (s *stage) write() error {
	data, err := s.file.Format()
	if err != nil {
		return err
	}
	return os.WriteFile(s.modFile(), data, 0o600)
}

// goRun runs the go command on the copies.
func (s *stage) goRun(ctx context.Context, args ...string) (string, error) {
	out, err := s.run(ctx, s.dir, s.env, "go", args...)
	return strings.TrimSpace(string(out)), err
}

// selected returns the driver version that the application is built with.
func (s *stage) selected(ctx context.Context, driver string) (string, error) {
	if err := s.write(); err != nil {
		return "", err
	}
	version, err := s.goRun(ctx, "list", "-m", "-mod=mod", "-modfile="+s.modFile(), "-f", "{{.Version}}", driver)
	if err != nil && strings.Contains(err.Error(), "not a known dependency") {
		return "", fmt.Errorf("%s does not depend on %s", s.file.Module.Mod.Path, driver)
	}
	return version, err
}

// complete tidies the copies, builds the application with them, and compares them with the originals.
func (s *stage) complete(ctx context.Context, c *Change, skipBuild bool) (*Change, error) {
	c.stage, c.Module = s, s.file.Module.Mod.Path
	err := s.tidy(ctx, skipBuild)
	if err == nil {
		c.Files, err = s.compare()
	}
	if err == nil {
		c.Workspace, err = s.goEnv(ctx, "GOWORK")
	}
	if c.Workspace == "off" {
		c.Workspace = ""
	}
	if err != nil {
		return nil, s.failed(err)
	}
	return c, nil
}

func (s *stage) tidy(ctx context.Context, skipBuild bool) error {
	if err := s.write(); err != nil {
		return err
	}
	if _, err := s.goRun(ctx, "mod", "tidy", "-modfile="+s.modFile()); err != nil {
		return err
	}
	if !skipBuild {
		if _, err := s.goRun(ctx, "build", "-mod=mod", "-modfile="+s.modFile(), "-o", os.DevNull, "./..."); err != nil {
			return s.explain(ctx, err)
		}
	}
	if !s.vendored {
		return nil
	}
	_, err := s.goRun(ctx, "mod", "vendor", "-modfile="+s.modFile(), "-o", filepath.Join(s.at, "vendor"))
	return err
}

// explain reports whether the application builds without the change.
func (s *stage) explain(ctx context.Context, err error) error {
	if _, before := s.goRun(ctx, "build", "-o", os.DevNull, "./..."); before != nil {
		return fmt.Errorf("%w\nit does not build without the change either; --skip-build skips the build", err)
	}
	return fmt.Errorf("%w\nit builds without the change", err)
}

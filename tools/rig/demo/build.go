package demo

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"

	"mongofork/tools/drivermod"
	"mongofork/tools/rig/process"
)

// builder builds the application with both drivers.
type builder struct {
	Config
	temp string
}

// binaries are the paths of the application built with each driver.
type binaries struct{ upstream, fork string }

// build builds the fork, and the application with either driver.
func (b builder) build(ctx context.Context) (binaries, error) {
	b.progressf("building the fork in %s", b.forkDir())
	if err := b.BuildFork(ctx); err != nil {
		return binaries{}, err
	}
	app := filepath.Join(b.Root, "examples", "overload")
	plain, err := b.modfile(app, "upstream", func(*modfile.File) error { return nil })
	if err != nil {
		return binaries{}, err
	}
	line := "replace " + drivermod.Path + " => " + b.forkDir()
	replaced, err := b.modfile(app, "fork", func(m *modfile.File) error { return m.AddReplace(drivermod.Path, "", b.forkDir(), "") })
	if err != nil {
		return binaries{}, err
	}
	b.progressf("building %s with %s %s, and with the fork by one more line in its go.mod:\n  %s",
		app, drivermod.Path, b.Base, line)

	shops := binaries{
		upstream: filepath.Join(b.temp, "upstream", "overload"),
		fork:     filepath.Join(b.temp, "fork", "overload"),
	}
	// Given a folder, the go command adds the system's suffix for executables.
	folder := func(binary string) string { return filepath.Dir(binary) + string(filepath.Separator) }
	for modfile, binary := range map[string]string{plain: shops.upstream, replaced: shops.fork} {
		// Another version of the driver may need other versions of its dependencies.
		if err := b.goTool(ctx, app, "build", "-mod=mod", "-modfile", modfile, "-o", folder(binary), "."); err != nil {
			return binaries{}, err
		}
	}
	return shops, nil
}

// modfile writes a copy of the application's go.mod that requires the base, with a change, and returns its path.
func (b builder) modfile(app, name string, change func(*modfile.File) error) (string, error) {
	folder := filepath.Join(b.temp, "mod", name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	return drivermod.Copy(app, folder, func(m *modfile.File) error {
		if err := m.AddRequire(drivermod.Path, b.Base); err != nil {
			return err
		}
		return change(m)
	})
}

// goTool runs the go command. The error of a failed run has its output.
func (b builder) goTool(ctx context.Context, dir string, args ...string) error {
	// Ignore any go.work above the repository.
	cmd := process.Command(ctx, dir, append(b.Environ, "GOWORK=off"), "go", args...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	process.Reap(cmd)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		// Not wrapped, because the exit code is the command's.
		return fmt.Errorf("go %s, in %s: %v\n%s", strings.Join(args, " "), dir, err, bytes.TrimSpace(output.Bytes()))
	}
	return nil
}

package demo

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"mongofork/internal/rig/drivermod"
	"mongofork/internal/rig/process"
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
	if err := b.goTool(ctx, b.Root, "run", "./cmd/mongofork", "--base", b.Base, "build"); err != nil {
		return binaries{}, err
	}
	app := filepath.Join(b.Root, "examples", "overload")
	if err := drivermod.Requires(app, b.Base); err != nil {
		return binaries{}, err
	}
	replaced, line, err := drivermod.Replace(app, b.forkDir(), b.temp)
	if err != nil {
		return binaries{}, err
	}
	b.progressf("building %s with %s %s, and with the fork by one more line in its go.mod:\n  %s",
		app, drivermod.Path, b.Base, line)

	shops := binaries{
		upstream: filepath.Join(b.temp, "upstream", "overload"),
		fork:     filepath.Join(b.temp, "fork", "overload"),
	}
	// Told a folder, the go command adds the system's suffix for executables.
	folder := func(binary string) string { return filepath.Dir(binary) + string(filepath.Separator) }
	if err := b.goTool(ctx, app, "build", "-o", folder(shops.upstream), "."); err != nil {
		return binaries{}, err
	}
	return shops, b.goTool(ctx, app, "build", "-modfile", replaced, "-o", folder(shops.fork), ".")
}

// goTool runs the go command. The error of a run that failed has its output.
func (b builder) goTool(ctx context.Context, dir string, args ...string) error {
	// No go.work above the repository must draw the modules in.
	cmd := process.Command(ctx, dir, append(b.Environ, "GOWORK=off"), "go", args...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	process.Reap(cmd)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		// Not wrapped: the exit code is the command's, not the demo's.
		return fmt.Errorf("go %s, in %s: %v\n%s", strings.Join(args, " "), dir, err, bytes.TrimSpace(output.Bytes()))
	}
	return nil
}

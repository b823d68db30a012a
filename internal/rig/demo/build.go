package demo

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"

	"mongofork/internal/rig/process"
)

// driverModule is the module that the fork takes the place of.
const driverModule = "go.mongodb.org/mongo-driver/v2"

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
	replaced, line, err := b.replacedModfile(app)
	if err != nil {
		return binaries{}, err
	}
	b.progressf("building %s with %s %s, and with the fork by one more line in its go.mod:\n  %s",
		app, driverModule, b.Base, line)

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

// replacedModfile writes the application's go.mod with a replace line for the
// fork, and its go.sum beside it. It returns the path and the line.
func (b builder) replacedModfile(app string) (path, line string, err error) {
	source := filepath.Join(app, "go.mod")
	content, err := os.ReadFile(source)
	if err != nil {
		return "", "", err
	}
	module, err := modfile.Parse(source, content, nil)
	if err != nil {
		return "", "", err
	}
	if err := requires(module, b.Base); err != nil {
		return "", "", fmt.Errorf("%s: %w", source, err)
	}
	if err := module.AddReplace(driverModule, "", b.forkDir(), ""); err != nil {
		return "", "", err
	}
	replaced, err := module.Format()
	if err != nil {
		return "", "", err
	}
	sums, err := os.ReadFile(filepath.Join(app, "go.sum"))
	if err != nil {
		return "", "", err
	}
	path = filepath.Join(b.temp, "go.mod")
	if err := os.WriteFile(path, replaced, 0o600); err != nil {
		return "", "", err
	}
	// The go command looks for the sums beside the file that -modfile names.
	if err := os.WriteFile(filepath.Join(b.temp, "go.sum"), sums, 0o600); err != nil {
		return "", "", err
	}
	return path, replaceLine(module), nil
}

// requires checks that the application is built with the version of upstream
// that the fork is compared with.
func requires(module *modfile.File, version string) error {
	for _, r := range module.Require {
		if r.Mod.Path == driverModule && r.Mod.Version == version {
			return nil
		}
	}
	return fmt.Errorf("it does not require %s %s; run: go -C examples/overload get %[1]s@%[2]s", driverModule, version)
}

// replaceLine returns the line as it stands in the file.
func replaceLine(module *modfile.File) string {
	for _, r := range module.Replace {
		if r.Old.Path == driverModule {
			return strings.Join(r.Syntax.Token, " ")
		}
	}
	return ""
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

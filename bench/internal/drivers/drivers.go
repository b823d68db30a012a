// Package drivers compiles a package's tests and benchmarks with each of the drivers that are compared.
package drivers

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/semver"

	"mongofork/tools/drivermod"
)

// Driver is a version of upstream's driver, untouched or as a fork.
type Driver struct {
	Name, Base string
	Fork       bool
	root       string // of the repository
}

// New returns the driver of a base, given the root of the repository.
func New(root, base string, fork bool) Driver {
	if fork {
		return Driver{"fork of " + base, base, true, root}
	}
	return Driver{"upstream " + base, base, false, root}
}

// Bases returns the oldest and the newest base of the repository.
func Bases(root string) (oldest, newest string, err error) {
	locks, err := filepath.Glob(filepath.Join(root, "etc", "bases", "*", "fork.lock"))
	if err != nil {
		return "", "", err
	}
	if len(locks) == 0 {
		return "", "", fmt.Errorf("%s has no etc/bases/*/fork.lock: give the root of the repository with --root", root)
	}
	bases := make([]string, len(locks))
	for i, lock := range locks {
		bases[i] = filepath.Base(filepath.Dir(lock))
	}
	semver.Sort(bases)
	return bases[0], bases[len(bases)-1], nil
}

// build writes the driver to the folder below build that the other targets of make use, too.
func (d Driver) build(ctx context.Context) (folder string, err error) {
	args := []string{"run", "./tools/cmd/mongofork", "--base", d.Base, "build"}
	folder = filepath.Join("build", d.Base)
	if !d.Fork {
		folder = filepath.Join("build", "pristine", d.Base)
		args = append(args, "--pristine", "-o", folder)
	}
	if err := run(ctx, d.root, args...); err != nil {
		return "", fmt.Errorf("build %s: %w", d.Name, err)
	}
	return filepath.Abs(filepath.Join(d.root, folder))
}

// Compile compiles the tests of a package, "./cost", of the module in a folder with a driver. It returns the path of the program,
// which it writes below temp.
func (d Driver) Compile(ctx context.Context, module, pkg, temp string) (string, error) {
	built, err := d.build(ctx)
	if err != nil {
		return "", err
	}
	folder := filepath.Join(temp, strings.ReplaceAll(d.Name, " ", "-"))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	modfile, err := drivermod.Replace(module, built, folder)
	if err != nil {
		return "", err
	}
	program := filepath.Join(folder, filepath.Base(pkg)+".test")
	args := []string{"test", "-c", "-mod=mod", "-modfile", modfile, "-o", program, "-tags", d.tags(built)}
	// A driver of another version may need other modules than the module's go.mod has, hence -mod.
	if err := run(ctx, module, append(args, pkg)...); err != nil {
		return "", fmt.Errorf("compile %s with %s: %w", pkg, d.Name, err)
	}
	return program, nil
}

// tags returns the build tags for what only some drivers have: the fork's API, and a generator of the package for jitter.
func (d Driver) tags(built string) string {
	var tags []string
	if d.Fork {
		tags = append(tags, "criticality")
	}
	if _, err := os.Stat(filepath.Join(built, "internal", "randutil", "jitter.go")); err == nil {
		tags = append(tags, "jitter")
	}
	return strings.Join(tags, ",")
}

// run runs the go command. No go.work above the repository must draw the modules in.
func run(ctx context.Context, folder string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "GOWORK=off")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, bytes.TrimSpace(output))
	}
	return nil
}

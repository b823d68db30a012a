// Package programs builds the programs and tests of this repository's modules with another driver than the one that they require: the fork
// of a base, the untouched module, or any folder with the driver's module.
package programs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"mongofork/tools/command"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/process"
)

// upstream is the path of the driver's module.
const upstream = "go.mongodb.org/mongo-driver/v2"

// Builder builds below the root of the repository. Stderr receives what the builds and the programs say.
type Builder struct {
	Root   string
	Stderr io.Writer
}

// driver returns the folder of a driver, which is given by its path, or by one below build: "v2.5.0" or "pristine/v2.5.0".
func (b Builder) driver(name string) (string, error) {
	folder := name
	if !filepath.IsAbs(name) {
		folder = filepath.Join(b.Root, "build", name)
	}
	text, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil || !bytes.Contains(text, []byte("module "+upstream+"\n")) {
		return "", fmt.Errorf("%s has no module of the driver; make trees builds the fork and the untouched module", folder)
	}
	return folder, nil
}

// output is the folder of a driver's programs.
func (b Builder) output(driver string) string {
	if filepath.IsAbs(driver) {
		driver = filepath.Join("forks", driver)
	}
	return filepath.Join(b.Root, "build", "with", driver)
}

// workspace writes a go.work of this repository's modules with a driver, and returns its path.
func (b Builder) workspace(driver string) (string, error) {
	folder, err := b.driver(driver)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("go 1.25.0\nuse (\n%q\n%q\n%q\n)\nreplace %s => %q\n", b.Root, filepath.Join(b.Root, "lab"),
		filepath.Join(b.Root, "bench"), upstream, folder)
	file := filepath.Join(b.output(driver), "go.work")
	return file, filetree.Replace(file, []byte(text)) // others may use it
}

// Go runs a go command in a module, such as "lab", with a driver.
func (b Builder) Go(ctx context.Context, driver, module string, args ...string) error {
	workspace, err := b.workspace(driver)
	if err != nil {
		return err
	}
	cmd := process.Command(ctx, filepath.Join(b.Root, module), append(os.Environ(), "GOWORK="+workspace), "go", args...)
	defer process.Reap(cmd)
	cmd.Stdout, cmd.Stderr = b.Stderr, b.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go %s in %s with %s: %w", args[0], module, driver, err)
	}
	return nil
}

// Program builds a program, or with "test", "-c" a test, into the folder of a driver's programs.
func (b Builder) Program(ctx context.Context, driver, module string, args ...string) error {
	return b.Go(ctx, driver, module, slices.Insert(args, 1, "-o", b.output(driver)+string(filepath.Separator))...)
}

// Comparison compares a fork with the untouched module of a base.
type Comparison struct {
	Builder
	// Base is the version of the untouched module, and Fork the fork's, as a base, or the folder of its module.
	Base, Fork string
	First      bool // end with the first finding
}

// Build builds the comparison with both drivers, changed to draw random numbers from a plan.
func (c Comparison) Build(ctx context.Context) error {
	for _, driver := range []string{c.Fork, filepath.Join("pristine", c.Base)} {
		folder, err := c.driver(driver)
		if err != nil {
			return err
		}
		overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
			filepath.Join(folder, "internal", "randutil", "randutil.go"): filepath.Join(c.Root, "lab", "cmd", "fuzz", "overlay", "randutil.go.txt"),
		}})
		file := filepath.Join(c.output(driver), "overlay.json")
		if err := errors.Join(err, filetree.Replace(file, overlay)); err != nil {
			return err
		}
		if err := c.Program(ctx, driver, "lab", "build", "-buildvcs=false", "-overlay", file, "./cmd/fuzz"); err != nil {
			return err
		}
	}
	return nil
}

// Run runs so many plans from a seed on. Build has to be called before.
func (c Comparison) Run(ctx context.Context, seeds, seed uint64, stdout io.Writer, env ...string) error {
	program := func(driver string) string { return filepath.Join(c.output(driver), "fuzz") }
	args := []string{"compare", "--upstream", program(filepath.Join("pristine", c.Base)), "--seeds", fmt.Sprint(seeds),
		"--seed", fmt.Sprint(seed)}
	if c.First {
		args = append(args, "--first")
	}
	cmd := process.Command(ctx, c.Root, append(os.Environ(), env...), program(c.Fork), args...)
	defer process.Reap(cmd)
	cmd.Stdout, cmd.Stderr = stdout, c.Stderr
	return cmd.Run()
}

// Soak runs the soak with the forks of some bases, and with untouched modules. While it builds them, mongod gets the path of a mongod.
func (b Builder) Soak(ctx context.Context, mongod func(context.Context) (string, error), forks, others, args []string) error {
	folder := filepath.Join(b.Root, "build", "server")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	lab := func(driver string) string { return filepath.Join(b.output(driver), "lab") }
	soak := []string{lab(forks[0]), "soak", "--dir", folder}
	var binary string
	group, building := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		binary, err = mongod(building)
		return err
	})
	group.Go(func() error {
		for i, driver := range slices.Concat(forks, others) {
			flag, name := "--fork", "fork of "+driver
			if i >= len(forks) {
				flag, name, driver = "--other", driver, filepath.Join("pristine", driver)
			}
			soak = append(soak, flag, name+"="+lab(driver))
			if err := b.Program(building, driver, "lab", "build", "./cmd/lab"); err != nil {
				return err
			}
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		return err
	}
	return command.PassThrough(ctx, nil, slices.Concat(soak, []string{"--mongod", binary}, args))
}

// Package programs builds the programs and tests of this repository's modules with another driver than the one that they require: the fork
// of a base, the untouched module, or any folder with the driver's module.
package programs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"mongofork/tools/command"
	"mongofork/tools/process"
)

// upstream is the path of the driver's module.
const upstream = "go.mongodb.org/mongo-driver/v2"

// Builder builds below the root of the repository.
type Builder struct {
	Root    string
	Environ []string
	Stderr  io.Writer
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

// workspace writes a go.work of this repository's modules with a driver, and returns its path. The file is put in its place whole, because
// others may use it.
func (b Builder) workspace(driver string) (string, error) {
	folder, err := b.driver(driver)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("go 1.25.0\nuse (\n%q\n%q\n%q\n)\nreplace %s => %q\n", b.Root, filepath.Join(b.Root, "lab"),
		filepath.Join(b.Root, "bench"), upstream, folder)
	return b.write(driver, "go.work", []byte(text))
}

// write writes a file to the folder of a driver's programs.
func (b Builder) write(driver, name string, content []byte) (string, error) {
	file := filepath.Join(b.output(driver), name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", err
	}
	temporary := fmt.Sprintf("%s.%d", file, os.Getpid())
	if err := os.WriteFile(temporary, content, 0o644); err != nil {
		return "", err
	}
	return file, os.Rename(temporary, file)
}

// Go runs a go command in a module, such as "lab", with a driver.
func (b Builder) Go(ctx context.Context, driver, module string, args ...string) error {
	workspace, err := b.workspace(driver)
	if err != nil {
		return err
	}
	cmd := process.Command(ctx, filepath.Join(b.Root, module), append(b.Environ, "GOWORK="+workspace), "go", args...)
	defer process.Reap(cmd)
	cmd.Stdout, cmd.Stderr = b.Stderr, b.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go %s in %s with %s: %w", args[0], module, driver, err)
	}
	return nil
}

// Program builds a program, or with "test", "-c" a test, and returns its path, as go names it.
func (b Builder) Program(ctx context.Context, driver, module, name string, args ...string) (string, error) {
	folder := b.output(driver) + string(filepath.Separator)
	return folder + name, b.Go(ctx, driver, module, append([]string{args[0], "-o", folder}, args[1:]...)...)
}

// Lab builds the lab with a driver.
func (b Builder) Lab(ctx context.Context, driver string) (string, error) {
	return b.Program(ctx, driver, "lab", "lab", "build", "./cmd/lab")
}

// Comparison compares a fork with the untouched module of a base.
type Comparison struct {
	Builder
	Base string
	// Fork is the folder of the fork's module; if it is empty, that is the fork of the base.
	Fork  string
	First bool // end with the first finding
}

// Build builds the comparison with both drivers, changed to draw random numbers from a plan.
func (c Comparison) Build(ctx context.Context) error {
	for _, driver := range []string{c.driver(), filepath.Join("pristine", c.Base)} {
		folder, err := c.Builder.driver(driver)
		if err != nil {
			return err
		}
		drawn := filepath.Join(folder, "internal", "randutil", "randutil.go")
		overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
			drawn: filepath.Join(c.Root, "lab", "cmd", "fuzz", "overlay", "randutil.go.txt"),
		}})
		if err != nil {
			return err
		}
		file, err := c.write(driver, "overlay.json", overlay)
		if err != nil {
			return err
		}
		args := []string{"build", "-buildvcs=false", "-overlay", file, "./cmd/fuzz"}
		if _, err := c.Program(ctx, driver, "lab", "fuzz", args...); err != nil {
			return err
		}
	}
	return nil
}

func (c Comparison) driver() string { return cmp.Or(c.Fork, c.Base) }

// Run runs so many plans from a seed on. Build has to be called before.
func (c Comparison) Run(ctx context.Context, seeds, seed uint64, stdout io.Writer, env ...string) error {
	program := func(driver string) string { return filepath.Join(c.output(driver), "fuzz") }
	args := []string{"compare", "--upstream", program(filepath.Join("pristine", c.Base)), "--seeds", fmt.Sprint(seeds),
		"--seed", fmt.Sprint(seed)}
	if c.First {
		args = append(args, "--first")
	}
	cmd := process.Command(ctx, c.Root, append(append([]string{}, c.Environ...), env...), program(c.driver()), args...)
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
	var (
		named  []string
		binary string
	)
	group, building := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		binary, err = mongod(building)
		return err
	})
	group.Go(func() (err error) {
		named, err = b.labs(building, forks, others)
		return err
	})
	if err := group.Wait(); err != nil {
		return err
	}
	_, lab, _ := strings.Cut(named[1], "=")
	soak := append([]string{lab, "soak", "--dir", folder, "--mongod", binary}, named...)
	return command.PassThrough(ctx, nil, append(soak, args...))
}

// labs builds the lab with some drivers, and returns the soak's flags that name them.
func (b Builder) labs(ctx context.Context, forks, others []string) (named []string, err error) {
	add := func(flag, name, driver string) error {
		lab, err := b.Lab(ctx, driver)
		named = append(named, flag, name+"="+lab)
		return err
	}
	for _, base := range forks {
		if err := add("--fork", "fork of "+base, base); err != nil {
			return nil, err
		}
	}
	for _, base := range others {
		if err := add("--other", base, "pristine/"+base); err != nil {
			return nil, err
		}
	}
	return named, nil
}

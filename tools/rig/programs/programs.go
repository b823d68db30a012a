// Package programs builds the programs and tests of this repository's modules with another driver than the one that they require: the fork
// of a base, the untouched module, or any folder with the driver's module.
package programs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"mongofork/tools/command"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/process"
)

// upstream is the path of the driver's module.
const upstream = "go.mongodb.org/mongo-driver/v2"

// Builder builds below the root of the repository. Base is the version of the untouched module, and Stderr receives what the builds say.
type Builder struct {
	Root, Base string
	Stderr     io.Writer
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

func (b Builder) output(driver string) string { return filepath.Join(b.Root, "build", "with", driver) }

// With is a command line: a go command in a module, with a driver.
type With struct {
	Programs bool     `help:"Put what the command builds into the folder build/with/DRIVER."`
	Driver   string   `arg:"" help:"A base, such as v2.5.0, for its fork; pristine/v2.5.0 for the untouched module; or the folder of a module."`
	Module   string   `arg:"" help:"The module, such as lab."`
	Command  []string `arg:"" passthrough:"partial" placeholder:"COMMAND" help:"The arguments of go (after --)."`
}

func (w *With) Run(ctx context.Context, b Builder) error {
	folder, err := b.driver(w.Driver)
	workspace := filepath.Join(b.output(w.Driver), "go.work") // this repository's modules with the driver
	if err == nil {                                           // others may use it
		err = filetree.Replace(workspace, fmt.Appendf(nil, "go 1.25.0\nuse (\n%q\n%q\n%q\n)\nreplace %s => %q\n", b.Root,
			filepath.Join(b.Root, "lab"), filepath.Join(b.Root, "bench"), upstream, folder))
	}
	if err != nil {
		return err
	}
	args := command.Words(w.Command)
	if w.Programs {
		args = slices.Insert(args, 1, "-o", b.output(w.Driver)+string(filepath.Separator))
	}
	env := append(os.Environ(), "GOWORK="+workspace)
	if err = process.Run(ctx, filepath.Join(b.Root, w.Module), env, b.Stderr, b.Stderr, "go", args...); err != nil {
		err = fmt.Errorf("go %s in %s with %s: %w", args[0], w.Module, w.Driver, err)
	}
	return err
}

// Compare is a command line: the fork, and the untouched module of the base, run random plans.
type Compare struct {
	Seeds uint64 `default:"2000" help:"The number of plans."`
	Seed  uint64 `default:"1" help:"The seed of the first plan."`
	Fork  string `type:"existingdir" help:"The folder of a module of the driver to judge instead of the fork of the base."`
	First bool   `hidden:"" help:"End with the first finding."`
}

func (c *Compare) Run(ctx context.Context, b Builder, stdout io.Writer) error {
	if err := c.Build(ctx, b); err != nil {
		return err
	}
	return c.Start(ctx, b, stdout)
}

// Build builds the comparison with both drivers, changed to draw random numbers from a plan.
func (c *Compare) Build(ctx context.Context, b Builder) error {
	for _, driver := range c.drivers(b) {
		folder, err := b.driver(driver)
		if err != nil {
			return err
		}
		drawn := filepath.Join(b.Root, "lab", "cmd", "fuzz", "overlay", "randutil.go.txt")
		file := filepath.Join(b.output(driver), "overlay.json")
		overlay := fmt.Appendf(nil, `{"Replace": {%q: %q}}`, filepath.Join(folder, "internal", "randutil", "randutil.go"), drawn)
		if err := filetree.Replace(file, overlay); err != nil {
			return err
		}
		build := []string{"build", "-buildvcs=false", "-overlay", file, "./cmd/fuzz"}
		if err := (&With{true, driver, "lab", build}).Run(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// drivers are the fork and the untouched module.
func (c *Compare) drivers(b Builder) []string {
	return []string{cmp.Or(c.Fork, b.Base), filepath.Join("pristine", b.Base)}
}

// Start runs the comparison that was built, with more in its environment.
func (c *Compare) Start(ctx context.Context, b Builder, stdout io.Writer, env ...string) error {
	drivers := c.drivers(b)
	return process.Run(ctx, b.Root, append(os.Environ(), env...), stdout, b.Stderr, filepath.Join(b.output(drivers[0]), "fuzz"),
		"compare", "--upstream", filepath.Join(b.output(drivers[1]), "fuzz"), "--seeds", fmt.Sprint(c.Seeds),
		"--seed", fmt.Sprint(c.Seed), fmt.Sprintf("--first=%t", c.First))
}

// Parallel is the program that runs a driver with many goroutines, in real time.
type Parallel struct {
	Driver string // as in With
	Race   bool   // with the race detector
}

func (p *Parallel) Build(ctx context.Context, b Builder) error {
	file := filepath.Join(b.output(p.Driver), "parallel") // the comparison's program is beside it
	build := []string{"build", "-buildvcs=false", fmt.Sprintf("-race=%t", p.Race), "-o", file, "./cmd/fuzz"}
	return (&With{true, p.Driver, "lab", build}).Run(ctx, b)
}

// Start runs the program that was built, until it has a finding, for at most a minute, with more in its environment. It returns what was
// found first.
func (p *Parallel) Start(ctx context.Context, b Builder, env ...string) (found string, err error) {
	var out, stderr strings.Builder
	env = append(append(os.Environ(), "GORACE=halt_on_error=1"), env...)
	err = process.Run(ctx, b.Root, env, &out, &stderr, filepath.Join(b.output(p.Driver), "parallel"), "parallel",
		"--first", "--duration", "60s")
	first, _, _ := strings.Cut(out.String(), "\n")
	var exit *exec.ExitError
	switch {
	case !errors.As(err, &exit) || ctx.Err() != nil:
		return "", errors.Join(err, ctx.Err())
	case strings.Contains(stderr.String(), "DATA RACE"):
		return "race detector", nil
	case exit.ExitCode() == command.ExitFailed:
		return first, nil
	}
	said := strings.TrimSpace(stderr.String())
	return "the process ends: " + said[:min(100, len(said))], nil
}

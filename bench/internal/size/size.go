// Package size measures what a program gains by a driver: bytes, dependencies, and time to build it.
package size

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mongofork/bench/internal/drivers"
)

// Program is a program that was built with a driver.
type Program struct {
	Driver string `json:"driver"`
	// Bytes is its size, Stripped that without symbols and debugging information.
	Bytes    int64 `json:"bytes"`
	Stripped int64 `json:"stripped_bytes"`
	// Packages is how many packages are in it, those of the standard library not counted, and Modules which modules they are
	// from, with their versions.
	Packages int      `json:"packages"`
	Modules  []string `json:"modules"`
	// BuildSeconds is how long each build took with empty caches, the standard library included; ProcessorSeconds the
	// time of all processors.
	BuildSeconds     []float64 `json:"build_seconds"`
	ProcessorSeconds []float64 `json:"processor_seconds"`
}

// Measure builds the program of a module with each driver, and so many times with empty caches, in turn. Progress, unless
// nil, is called after each of these.
func Measure(ctx context.Context, b drivers.Builder, all []drivers.Driver, rounds int, progress func(done, of int)) ([]*Program, error) {
	var programs []*Program
	for _, driver := range all {
		p, err := measure(ctx, b, driver)
		if err != nil {
			return nil, err
		}
		programs = append(programs, p)
	}
	for round := range rounds {
		for i := range all {
			// Each round begins with another driver, so that none always finds the files in memory.
			i = (i + round) % len(all)
			if err := programs[i].build(ctx, b, all[i]); err != nil {
				return nil, err
			}
		}
		if progress != nil {
			progress(round+1, rounds)
		}
	}
	return programs, nil
}

// measure measures all but the time.
func measure(ctx context.Context, b drivers.Builder, driver drivers.Driver) (*Program, error) {
	p := &Program{Driver: driver.Name}
	for _, build := range []struct {
		flags string
		size  *int64
	}{{"-ldflags=", &p.Bytes}, {"-ldflags=-s -w", &p.Stripped}} {
		// Without the names of folders, which differ.
		program, err := b.Build(ctx, driver, ".", "-trimpath", "-buildvcs=false", build.flags)
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(program)
		if err != nil {
			return nil, err
		}
		*build.size = info.Size()
	}
	name, err := b.Modfile(ctx, driver)
	if err != nil {
		return nil, err
	}
	list, err := b.Go(ctx, "list", "-modfile", name, "-deps", "-f", "{{with .Module}}{{.Path}} {{.Version}}{{end}}", ".")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(list) {
		p.Modules = append(p.Modules, strings.TrimSpace(line))
	}
	p.Packages = len(p.Modules) // the standard library is in no module, and is not printed
	slices.Sort(p.Modules)
	p.Modules = slices.Compact(p.Modules)
	return p, nil
}

// build takes the time of a build with empty caches.
func (p *Program) build(ctx context.Context, b drivers.Builder, driver drivers.Driver) error {
	name, err := b.Modfile(ctx, driver)
	if err != nil {
		return err
	}
	cache, err := os.MkdirTemp(b.Temp, "cache-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(cache) }()

	cmd := exec.CommandContext(ctx, "go", "build", "-modfile", name, "-o", filepath.Join(cache, "program"), ".")
	cmd.Dir, cmd.Env = b.Module, append(slices.Clone(b.Environ), "GOWORK=off", "GOCACHE="+cache)
	began := time.Now()
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build with %s and empty caches: %w\n%s", driver.Name, err, output)
	}
	p.BuildSeconds = append(p.BuildSeconds, time.Since(began).Seconds())
	p.ProcessorSeconds = append(p.ProcessorSeconds, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
	return nil
}

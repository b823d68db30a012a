// Bench compares the fork with upstream's driver, and writes the tables of docs/performance.md.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/alecthomas/kong"

	"mongofork/tools/command"
)

const description = `Compares the fork with upstream's driver, on each base, and writes the tables of docs/performance.md.

Exit codes: 0 done, 1 a benchmark failed, 2 wrong usage.`

type cli struct {
	Root  string `short:"C" default:".." type:"existingdir" help:"Root of the repository."`
	Older string `required:"" placeholder:"VERSION" help:"The oldest base; drivers of both bases are in build/ and build/pristine/."`
	Newer string `required:"" placeholder:"VERSION" help:"The newest base."`
	Only  string `placeholder:"REGEXP" help:"Measure only what matches of \"scenario: driver\", print the results and leave the pages alone."`
}

func main() { command.Main(run) }

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c cli
	return command.Program{
		Name: "bench", Description: description, CLI: &c,
		Do: func(*kong.Context) error { return c.run(ctx, stdout, stderr) },
	}.Run(args, stdout, stderr)
}

// run measures all drivers under overload, in virtual time.
func (c *cli) run(ctx context.Context, stdout, stderr io.Writer) error {
	p, err := newPlan(c.Older, c.Newer)
	if err != nil {
		return err
	}
	only, err := regexp.Compile(c.Only)
	if err != nil {
		return err
	}
	for i := range p.Scenarios {
		e := &p.Scenarios[i]
		e.Arms = slices.DeleteFunc(e.Arms, func(a string) bool { return !only.MatchString(e.Name + ": " + p.Arms[a].Name) })
	}
	all, err := c.measure(ctx, p, stderr)
	switch {
	case err != nil:
		return err
	case len(all) == 0:
		return fmt.Errorf("nothing in plan.yaml matches %q", c.Only)
	case c.Only == "":
		return p.write(c.Root, all)
	}
	for _, e := range p.Scenarios {
		for _, a := range e.Arms {
			fmt.Fprintf(stdout, "%s: %s: %v\n", e.Name, p.Arms[a].Name, all[key{e.Name, a}])
		}
	}
	return nil
}

// write writes all tables, and the picture, into their pages.
func (p plan) write(root string, all measured) error {
	write := func(page, marker, text string) error {
		page = filepath.Join(root, filepath.FromSlash(page))
		content, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		replaced, err := between(string(content), marker, text)
		if err != nil {
			return fmt.Errorf("%s: %w", page, err)
		}
		return os.WriteFile(page, []byte(replaced), 0o644) //nolint:gosec // a page that everybody may read
	}
	for _, t := range p.Tables {
		if err := write(t.Page, t.Marker, t.text(p, all)); err != nil {
			return err
		}
	}
	return write("docs/performance/goodput.svg", "lines", p.plot(all))
}

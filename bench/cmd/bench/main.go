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
	"strings"

	"github.com/alecthomas/kong"

	"mongofork/tools/command"
)

const description = `Compares the fork with upstream's driver, on each base, and writes the tables of docs/performance.md.

Exit codes: 0 done, 1 a benchmark failed, 2 wrong usage.`

type cli struct {
	Root  string `short:"C" default:".." type:"existingdir" help:"Root of the repository."`
	Older string `required:"" placeholder:"VERSION" help:"The oldest base; drivers of both bases are in build/ and build/pristine/."`
	Newer string `required:"" placeholder:"VERSION" help:"The newest base."`
	Only  string `placeholder:"REGEXP" help:"Measure only what matches of \"scenario: driver\", print the results and leave the pages alone. What matches nothing prints all."`
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
	if err == nil {
		err = p.leave(c.Only)
	}
	if err != nil {
		return err
	}
	all, err := c.measure(ctx, p, stderr)
	if err != nil {
		return err
	}
	if c.Only == "" {
		return p.write(c.Root, all)
	}
	for _, e := range p.Scenarios {
		fmt.Fprintln(stdout, e.table(all).text(p, all))
	}
	return nil
}

// leave leaves of the scenarios what matches.
func (p *plan) leave(matching string) error {
	only, err := regexp.Compile(matching)
	if err != nil {
		return err
	}
	var left []entry
	var names []string
	for _, e := range p.Scenarios {
		e.Arms = slices.DeleteFunc(e.Arms, func(a string) bool {
			name := e.Name + ": " + p.Arms[a].Name
			names = append(names, name)
			return !only.MatchString(name)
		})
		if len(e.Arms) > 0 {
			left = append(left, e)
		}
	}
	if left == nil {
		return fmt.Errorf("nothing matches %q; there are:\n%s", matching, strings.Join(names, "\n"))
	}
	p.Scenarios = left
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

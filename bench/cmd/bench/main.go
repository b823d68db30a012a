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
	Root  string         `short:"C" default:".." type:"existingdir" help:"Root of the repository."`
	Older string         `required:"" placeholder:"VERSION" help:"The oldest base; drivers of both bases are in build/ and build/pristine/."`
	Newer string         `required:"" placeholder:"VERSION" help:"The newest base."`
	Only  *regexp.Regexp `placeholder:"REGEXP" help:"Measure only what matches of \"scenario: driver\", print the results and leave the pages alone."`
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
	for i := range p.Scenarios {
		e := &p.Scenarios[i]
		e.Arms = slices.DeleteFunc(e.Arms, func(a string) bool {
			return c.Only != nil && !c.Only.MatchString(e.Name+": "+p.Arms[a].Name)
		})
	}
	all, err := c.measure(ctx, p, stderr)
	switch {
	case err != nil:
		return err
	case len(all) == 0:
		return fmt.Errorf("nothing in plan.yaml matches %q", c.Only)
	case c.Only == nil:
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
	for _, t := range p.Tables {
		if err := replace(filepath.Join(root, t.Page), t.Marker, t.text(p, all)); err != nil {
			return err
		}
	}
	return replace(filepath.Join(root, "docs/performance/goodput.svg"), "lines", p.plot(all))
}

// replace replaces what stands in a page between "<!-- measured: marker -->" and "<!-- end -->".
func replace(page, marker, text string) error {
	content, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	start, end := "<!-- measured: "+marker+" -->\n", "<!-- end -->\n"
	before, rest, found := strings.Cut(string(content), start)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("%s: there is no %q with %q after it", page, strings.TrimSpace(start), strings.TrimSpace(end))
	}
	return os.WriteFile(page, []byte(before+start+text+end+after), 0o644) //nolint:gosec // a page that everybody may read
}

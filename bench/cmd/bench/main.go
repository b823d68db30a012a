// Bench compares the fork with upstream's driver, and writes the tables of docs/performance/.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"

	"mongofork/tools/command"
)

const description = `Compares the fork with upstream's driver, on each base, and writes the tables of docs/performance/.

Exit codes: 0 done, 1 a benchmark failed, 2 wrong usage.`

type cli struct {
	Root  string `short:"C" default:".." type:"existingdir" help:"Root of the repository."`
	Older string `required:"" placeholder:"VERSION" help:"The oldest base; drivers of both bases are in build/ and build/pristine/."`
	Newer string `required:"" placeholder:"VERSION" help:"The newest base."`
}

func main() { command.Main(run) }

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c cli
	return command.Program{
		Name: "bench", Description: description, CLI: &c,
		Do: func(*kong.Context) error { return c.run(ctx, stderr) },
	}.Run(args, stdout, stderr)
}

// run measures all drivers under overload, in virtual time.
func (c *cli) run(ctx context.Context, progress io.Writer) error {
	p, err := newPlan(c.Older, c.Newer)
	if err != nil {
		return err
	}
	all, err := c.measure(ctx, p, progress)
	if err != nil {
		return err
	}
	return p.write(c.Root, all)
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

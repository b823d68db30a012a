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

const description = `Compares the fork with upstream's driver, on two bases, under overload, in virtual time, and writes the tables of
README.md and docs/performance/. "make bench" compiles what it runs, and calls it in bench/.

Exit codes: 0 done, 1 a benchmark failed, 2 wrong usage.`

// root is the repository's.
const root = ".."

func main() { command.Main(run) }

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var bases struct {
		Older string `arg:"" help:"The oldest base."`
		Newer string `arg:"" help:"The newest base."`
	}
	return command.Program{
		Name: "bench", Description: description, CLI: &bases,
		Do: func(*kong.Context) error {
			p, err := newPlan(bases.Older, bases.Newer)
			if err != nil {
				return err
			}
			all, err := p.measure(ctx, stderr)
			if err != nil {
				return err
			}
			return p.write(root, all)
		},
	}.Run(args, stdout, stderr)
}

// write writes all tables into their pages, between "<!-- measured: marker -->" and "<!-- end -->".
func (p plan) write(root string, all measured) error {
	for _, t := range p.Tables {
		page, start, end := filepath.Join(root, t.Page), "<!-- measured: "+t.Marker+" -->\n", "<!-- end -->\n"
		content, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		before, rest, found := strings.Cut(string(content), start)
		_, after, closed := strings.Cut(rest, end)
		if !found || !closed {
			return fmt.Errorf("%s: there is no %q with %q after it", page, strings.TrimSpace(start), strings.TrimSpace(end))
		}
		//nolint:gosec // a page that everybody may read
		if err := os.WriteFile(page, []byte(before+start+t.text(p, all)+end+after), 0o644); err != nil {
			return err
		}
	}
	return nil
}

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
	"time"

	"github.com/alecthomas/kong"

	"mongofork/bench/overload"
	"mongofork/tools/command"
)

const description = `Compares the fork with upstream's driver, on each base, and writes the tables of docs/performance.md.

Exit codes: 0 done, 1 a benchmark failed, 2 wrong usage.`

type cli struct {
	Overload overloadCmd `cmd:"" default:"withargs" help:"Measure all drivers under overload, in virtual time."`
	Lab      labCmd      `cmd:"" help:"Measure one overload in real time, too, on the lab that $MONGODB_URI names: make bench WHAT=lab."`
}

// common are the flags of all commands.
type common struct {
	Root  string `short:"C" default:".." type:"existingdir" help:"Root of the repository."`
	Older string `required:"" placeholder:"VERSION" help:"The oldest base; drivers of both bases are in build/ and build/pristine/."`
	Newer string `required:"" placeholder:"VERSION" help:"The newest base."`
}

// console is where commands print: results to Out, progress to Progress.
type console struct{ Out, Progress io.Writer }

func (c console) progressf(format string, args ...any) {
	fmt.Fprintf(c.Progress, format+"\n", args...)
}

func main() { command.Main(run) }

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return command.Program{
		Name: "bench", Description: description, CLI: new(cli),
		Options: []kong.Option{kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(console{stdout, stderr})},
		Do:      func(parsed *kong.Context) error { return parsed.Run() },
	}.Run(args, stdout, stderr)
}

type overloadCmd struct {
	common
	Only string `placeholder:"REGEXP" help:"Measure only what matches of \"scenario: driver\", print the results and leave the pages alone. What matches nothing prints all."`
}

// Run measures all drivers under overload, in virtual time.
func (c *overloadCmd) Run(ctx context.Context, console console) error {
	p, err := newPlan(c.Older, c.Newer)
	if err == nil {
		err = p.leave(c.Only)
	}
	if err != nil {
		return err
	}
	all, err := c.measure(ctx, console, p)
	if err != nil {
		return err
	}
	if c.Only == "" {
		return p.write(c.Root, all)
	}
	for _, e := range p.Scenarios {
		fmt.Fprintln(console.Out, e.table(all).text(p, all))
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

type labCmd struct {
	common
	URI      string        `env:"MONGODB_URI" required:"" placeholder:"URI" help:"Connection string of the lab."`
	Duration time.Duration `default:"20s" help:"How long each driver is measured."`
}

// Run measures twice what the lab admits in real time, over real connections, and once more in virtual time.
func (c *labCmd) Run(ctx context.Context, console console) error {
	p, err := newPlan(c.Older, c.Newer)
	if err != nil {
		return err
	}
	e := entry{Arms: []string{"noRetry", "twoRetries", "throttled", "newerThrottled"}}
	e.setDefaults()
	e.Load.Base, e.Limit, e.Duration = 2, int32(e.Capacity), c.Duration
	for _, place := range []struct{ name, uri string }{{"virtual time", ""}, {"the lab, real time", c.URI}} {
		all := measured{}
		e.Name = place.name
		for _, name := range e.Arms {
			console.progressf("%s: %s", place.name, p.Arms[name].Name)
			result, err := c.run(ctx, p.Arms[name], overload.Job{Scenario: e.Scenario, Seed: 1, URI: place.uri})
			if err != nil {
				return err
			}
			all[key{e.Name, name}] = result
		}
		fmt.Fprintln(console.Out, e.table(all).text(p, all))
	}
	return nil
}

// Bench compares the fork with upstream's driver, and writes the tables of docs/performance.md.
package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/alecthomas/kong"

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

// file returns a path below the root.
func (c common) file(parts ...string) string {
	return filepath.Join(append([]string{c.Root}, parts...)...)
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

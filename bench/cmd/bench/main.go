// Bench runs the project's benchmarks and keeps the tables of the pages about performance in agreement with their results.
package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/alecthomas/kong"

	"mongofork/bench/internal/drivers"
	"mongofork/tools/command"
)

const description = `Runs the project's benchmarks. Each writes its raw results to docs/performance/.

Exit codes: 0 done, 1 a benchmark failed, 2 wrong usage.`

// cli is the command line. Each command is a struct with a Run method.
type cli struct {
	Overhead  overheadCmd  `cmd:"" help:"Measure what the fork costs when all is well, against upstream's driver."`
	Bucket    bucketCmd    `cmd:"" help:"Measure the token bucket against other limits of retries."`
	Size      sizeCmd      `cmd:"" help:"Measure the size of programs, and the time to build them, against upstream's driver."`
	Goodput   goodputCmd   `cmd:"" help:"Measure the drivers for Go under overload, against upstream's."`
	Languages languagesCmd `cmd:"" help:"Measure PyMongo and the Node.js driver under overload, if there are interpreters."`
	Sim       simCmd       `cmd:"" help:"Simulate overload under several retry policies."`
	Report    reportCmd    `cmd:"" help:"Rewrite the tables of the pages about performance, and the plots, from the results."`
}

// common are the flags of all commands.
type common struct {
	Root string `short:"C" default:".." type:"existingdir" help:"Root of the repository."`
}

// file returns a path below the root.
func (c common) file(parts ...string) string {
	return filepath.Join(append([]string{c.Root}, parts...)...)
}

// bothDrivers returns the untouched driver and the fork, where "make bench-drivers" writes them.
func (c common) bothDrivers(base string) (upstream, fork drivers.Driver) {
	return drivers.Driver{Name: "upstream " + base, Folder: c.file("build", "pristine", base)},
		drivers.Driver{Name: "fork", Folder: c.file("build", base)}
}

// results returns the path of a file of results.
func (c common) results(name string) string { return c.file("docs", "performance", name) }

// atLeastOne refuses numbers of something that are less than one.
func atLeastOne(what string, numbers ...int) error {
	for _, n := range numbers {
		if n < 1 {
			return fmt.Errorf("there must be at least one %s, not %d", what, n)
		}
	}
	return nil
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

// Parallel runs the driver with many goroutines in real time, and judges what the application and the servers saw.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/alecthomas/kong"

	"mongofork/lab/parallel"
	"mongofork/tools/command"
)

const description = `Runs the driver with many goroutines, in real time, on a network and servers in memory that come and go, and judges
what the application and the servers saw. Build it with -race to have the race detector judge, too.

Exit codes: 0 no finding, 1 a finding, 2 wrong usage or a panic of the driver, 66 a finding of the race detector.`

type cli struct {
	Seed     uint64        `default:"1" help:"What is drawn by chance."`
	Duration time.Duration `default:"60s" help:"For how long."`
	First    bool          `help:"End with the first finding."`
}

func main() { command.Main(run) }

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c cli
	return command.Program{
		Name: "parallel", Description: description, CLI: &c,
		Do: func(*kong.Context) error {
			var first func()
			if c.First {
				first = func() { os.Exit(command.ExitFailed) }
			}
			if n := parallel.Run(ctx, c.Seed, c.Duration, first, stdout); n > 0 {
				return fmt.Errorf("there are %d findings; repeat it with SEED=%d", n, c.Seed)
			}
			return ctx.Err()
		},
	}.Run(args, stdout, stderr)
}

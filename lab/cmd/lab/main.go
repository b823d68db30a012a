// Lab puts itself before a MongoDB server and makes it look like any deployment, on a bad day.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

const description = `Puts itself before a MongoDB server and makes it look like a deployment of which everything can
be made to fail: members, elections, connections, overload.

Exit codes: 0 done, 1 the lab or the server failed, 2 wrong usage.`

// Exit codes, as the usage text gives them.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// cli is the command line. Each command is a struct with a Run method.
type cli struct {
	Serve serveCmd `cmd:"" help:"Serve a deployment until interrupted."`
	Run   runCmd   `cmd:"" help:"Serve a deployment to which a scenario happens."`
	Soak  soakCmd  `cmd:"" help:"Make everything go wrong for an application, and check that nothing is lost."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c cli
	exited, code := false, exitOK
	parser := kong.Must(&c, kong.Name("lab"), kong.Description(description), kong.Writers(stdout, stderr),
		kong.Exit(func(n int) { exited, code = true, n }))
	command, err := parser.Parse(args)
	if exited {
		return code
	}
	if err != nil {
		fmt.Fprintf(stderr, "lab: %v; see lab --help\n", err)
		return exitUsage
	}
	if err := command.Run(&environment{ctx: ctx, stdout: stdout, stderr: stderr}); err != nil {
		fmt.Fprintf(stderr, "lab: %v\n", err)
		return exitFailed
	}
	return exitOK
}

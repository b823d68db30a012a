// Lab puts itself before a MongoDB server and simulates any deployment, on a bad day.
package main

import (
	"context"
	"io"

	"github.com/alecthomas/kong"

	"mongofork/tools/command"
)

const description = `Puts itself before a MongoDB server and makes it look like a deployment of which everything can
be made to fail: members, elections, connections, overload.

Exit codes: 0 done, 1 the lab or the server failed, 2 wrong usage.`

// cli is the command line. Each command is a struct with a Run method.
type cli struct {
	Serve serveCmd `cmd:"" help:"Serve a deployment until interrupted."`
	Soak  soakCmd  `cmd:"" help:"Disturb applications on three real members, and check that nothing is lost."`

	SoakArm soakArmCmd `cmd:"" hidden:"" help:"Run one application of a soak."`
}

// environment is the commands' environment.
type environment struct {
	ctx            context.Context
	stdout, stderr io.Writer
}

func main() { command.Main(run) }

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c cli
	return command.Program{Name: "lab", Description: description, CLI: &c, Do: func(parsed *kong.Context) error {
		return parsed.Run(&environment{ctx: ctx, stdout: stdout, stderr: stderr})
	}}.Run(args, stdout, stderr)
}

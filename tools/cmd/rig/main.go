// Rig runs the project's test suites, starts a MongoDB server for them, and
// demonstrates what the fork does.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/alecthomas/kong"

	"mongofork/tools/command"
	"mongofork/tools/redact"
)

const description = `Runs the project's test suites and what belongs to them.

Exit codes: 0 done, 1 a test or check failed, 2 wrong usage or environment.`

// errFailed means that a test or check failed; the report says which.
var errFailed = errors.New("failed")

// cli is the command line. Each command is a struct with a Run method.
type cli struct {
	Test        testCmd        `cmd:"" help:"Run the test suites and print a report."`
	Quick       quickCmd       `cmd:"" help:"Run the suites check and fork without the race detector."`
	Upstream    upstreamCmd    `cmd:"" help:"Run upstream's tests in the fork and in the untouched module and print the difference."`
	Spec        specCmd        `cmd:"" help:"Run the specification's tests on a real server."`
	Throttling  throttlingCmd  `cmd:"" help:"Run the fork's tests, and the specification's about overload, with adaptiveThrottling on."`
	Integration integrationCmd `cmd:"" help:"Run all of upstream's tests that need a server, in the fork and in the untouched module, and print the difference."`
	Baseline    baselineCmd    `cmd:"" help:"Record the outcomes of upstream's tests in the untouched module."`
	Topologies  topologiesCmd  `cmd:"" help:"Run the specification's unified tests on every topology that the lab makes of a real server."`
	Soak        soakCmd        `cmd:"" help:"Make everything go wrong for an application with either driver, and compare."`
	Server      serverCmd      `cmd:"" help:"Start a MongoDB server, or find the one that MONGODB_URI names."`
	Mongod      mongodCmd      `cmd:"" help:"Print the path of the pinned mongod, installing it if necessary."`
	Demo        demoCmd        `cmd:"" help:"Show what the fork does when the server sheds load."`
}

func main() { command.Main(run) }

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return command.Program{
		Name: "rig", Description: description, CLI: new(cli), Failed: exitCode,
		Options: []kong.Option{
			kong.BindTo(ctx, (*context.Context)(nil)), kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		},
		Do: func(parsed *kong.Context) error { return parsed.Run() },
	}.Run(args, stdout, stderr)
}

// exitCode prints an error, unless a report has already shown it, and returns
// its exit code: its own if it has one.
func exitCode(err error, stderr io.Writer) int {
	if errors.Is(err, errFailed) {
		return command.ExitFailed
	}
	fmt.Fprintf(stderr, "rig: %s\n", redact.URIs(err.Error()))
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) && coded.ExitCode() > 0 {
		return coded.ExitCode()
	}
	return command.ExitUsage
}

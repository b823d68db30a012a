// Dashboard fills the Grafana dashboard of the retries: it lets an application meet an overload in the lab, answers the
// dashboard's queries from the application's metrics, and draws what the panels show.
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

const description = `Fills a Grafana dashboard by a run of the lab: scrapes an application's metrics, answers the queries of
all panels with Prometheus' query engine, prints what they show, and draws it.

Exit codes: 0 all panels are filled, 1 one is not or the run failed, 2 wrong usage.`

// Exit codes, as the description gives them.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c command
	exited, code := false, exitOK
	parser := kong.Must(&c, kong.Name("dashboard"), kong.Description(description), kong.Writers(stdout, stderr),
		kong.Exit(func(n int) { exited, code = true, n }))
	_, err := parser.Parse(args)
	if exited {
		return code
	}
	if err != nil {
		fmt.Fprintf(stderr, "dashboard: %v; see dashboard --help\n", err)
		return exitUsage
	}
	if err := c.run(ctx, stdout, stderr); err != nil {
		fmt.Fprintf(stderr, "dashboard: %v\n", err)
		return exitFailed
	}
	return exitOK
}

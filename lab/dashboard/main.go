// Dashboard fills the Grafana dashboard of the retries: it lets an application meet an overload in the lab, answers the
// dashboard's queries from the application's metrics, and draws what the panels show.
package main

import (
	"context"
	"fmt"
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
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	var command command
	parser := kong.Must(&command, kong.Name("dashboard"), kong.Description(description))
	if _, err := parser.Parse(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "dashboard: %v; see dashboard --help\n", err)
		os.Exit(exitUsage)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command.run(ctx, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "dashboard: %v\n", err)
		os.Exit(exitFailed)
	}
}

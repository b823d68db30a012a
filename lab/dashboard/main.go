// Dashboard fills the Grafana dashboard of the retries: it lets an application meet an overload in the lab, answers the
// dashboard's queries from the application's metrics, and draws what the panels show.
package main

import (
	"context"
	"io"

	"github.com/alecthomas/kong"

	"mongofork/tools/command"
)

const description = `Fills a Grafana dashboard by a run of the lab: scrapes an application's metrics, answers the queries of
all panels with Prometheus' query engine, prints what they show, and draws it.

Exit codes: 0 all panels are filled, 1 one is not or the run failed, 2 wrong usage.`

func main() { command.Main(run) }

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c filling
	return command.Program{Name: "dashboard", Description: description, CLI: &c, Do: func(*kong.Context) error {
		return c.run(ctx, stdout, stderr)
	}}.Run(args, stdout, stderr)
}

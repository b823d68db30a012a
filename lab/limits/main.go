// Limits exposes an application with the fork to the ingress limits of a MongoDB server, and prints the results.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/alecthomas/kong"
	"github.com/jedib0t/go-pretty/v6/table"

	"mongofork/lab/limits/internal/limits"
	"mongofork/tools/command"
)

const description = `Switches the ingress limits of a MongoDB server on, for requests and for connections, and checks that an
application with the fork gets along with them. A server that has none gets the lab put before it. In the end all
parameters are as before. While it runs, other applications are limited, too: take a server for tests.

Exit codes: 0 all is as it has to be, 1 something is not, or the run failed, 2 wrong usage.`

var errFailed = errors.New("some checks failed; the table says which")

type cli struct {
	Backend    string `required:"" env:"MONGODB_URI" placeholder:"URI" help:"Connection string of the server, with one host, a primary or router. Its database \"limits\" is dropped."`
	ServerOnly bool   `help:"Fail if the server has no limits, instead of using the lab's."`
}

func main() { command.Main(run) }

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c cli
	return command.Program{Name: "limits", Description: description, CLI: &c, Do: func(*kong.Context) error {
		return c.run(ctx, stdout)
	}}.Run(args, stdout, stderr)
}

func (c *cli) run(ctx context.Context, out io.Writer) error {
	report, err := limits.Run(ctx, limits.Config{URI: c.Backend, ServerOnly: c.ServerOnly})
	if report != nil {
		write(out, report)
	}
	if err == nil && report.Failed() {
		return errFailed
	}
	return err
}

// write writes a report as a line that names its source, and a table.
func write(out io.Writer, report *limits.Report) {
	t := table.NewWriter()
	t.AppendHeader(table.Row{"limit", "", "what has to be", "figures"})
	for _, check := range report.Checks {
		verdict := "ok"
		if !check.OK {
			verdict = "FAILED"
		}
		t.AppendRow(table.Row{check.Limit, verdict, check.What, check.Figures})
	}
	fmt.Fprintf(out, "the limits of %s\n%s\n", report.Where, t.Render())
}

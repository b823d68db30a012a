// Openloop puts an open-loop load on servers with the driver that it was built with: it reads a plan as JSON and prints a
// report as JSON. It is built once with each driver of a comparison.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"

	"mongofork/bench/internal/openloop"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "openloop: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	switch {
	case len(args) == 1 && args[0] == "load":
		return answer(ctx, openloop.Run, in, out)
	case len(args) == 1 && args[0] == "storm":
		return answer(ctx, openloop.RunStorm, in, out)
	default:
		return fmt.Errorf("unknown arguments %q; give load or storm, and a plan as standard input", args)
	}
}

// answer reads a plan, does what it says, and prints the report.
func answer[Plan, Report any](
	ctx context.Context, do func(context.Context, Plan) (*Report, error), in io.Reader, out io.Writer,
) error {
	var plan Plan
	decoder := json.NewDecoder(in)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&plan); err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	report, err := do(ctx, plan)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(report)
}

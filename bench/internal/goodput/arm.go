package goodput

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"mongofork/bench/internal/openloop"
)

// The versions of upstream's driver in the comparison: the fork's base, which knows nothing of overload, and one that retries
// twice.
const (
	Base  = "v2.5.0"
	Later = "v2.9.3"
)

// The versions of drivers of other languages, which bench/arms pins. By default, both retry twice after an overload error, and
// have no bucket.
const (
	pyMongoVersion    = "4.20.0"
	nodeDriverVersion = "7.9.0"
)

// The arms of a comparison.
const (
	NoRetry    = "upstream " + Base
	TwoRetries = "upstream " + Later
	Fork       = "fork"
	Adaptive   = "fork, adaptiveRetries"
	Single     = "fork, adaptiveRetries, 1 client" // regardless of the scenario
	Drained    = "fork, adaptiveRetries, tokens spent"
	Throttling = "fork, adaptiveThrottling"
	PyMongo    = "PyMongo " + pyMongoVersion
	NodeDriver = "Node driver " + nodeDriverVersion
)

// Arm is a program with one driver, and the driver's options.
type Arm struct {
	Name    string
	Program string // cmd/openloop, or an interpreter
	// Script is the interpreter's arguments: a program that follows schedules, and prints samples.
	Script  []string
	Options string // of the connection string
	Drain   bool
	Clients int // unless zero, instead of those of the scenario
}

// load puts the load of a plan on servers, and returns the processor time that it took.
func (a Arm) load(ctx context.Context, plan openloop.Plan) (*openloop.Report, time.Duration, error) {
	if len(a.Script) == 0 {
		return call[openloop.Report](ctx, plan, a, "load")
	}
	schedule, err := plan.Schedule()
	if err != nil {
		return nil, 0, err
	}
	samples, took, err := call[openloop.Samples](ctx, schedule, a, "load")
	if err != nil {
		return nil, 0, err
	}
	report, err := plan.Report(samples)
	return report, took, err
}

// storm starts all clients of a plan at once.
func (a Arm) storm(ctx context.Context, plan openloop.StormPlan) (*openloop.StormReport, error) {
	if len(a.Script) == 0 {
		report, _, err := call[openloop.StormReport](ctx, plan, a, "storm")
		return report, err
	}
	samples, _, err := call[openloop.StormSamples](ctx, plan, a, "storm")
	if err != nil {
		return nil, err
	}
	return samples.Report(), nil
}

// call runs an arm's program with a plan, and returns the report that it prints and its processor time.
func call[Report any](ctx context.Context, plan any, arm Arm, mode string) (*Report, time.Duration, error) {
	input, err := json.Marshal(plan)
	if err != nil {
		return nil, 0, err
	}
	cmd := exec.CommandContext(ctx, arm.Program, append(slices.Clone(arm.Script), mode)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = patience
	var output, messages bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &output, &messages
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		return nil, 0, fmt.Errorf("%w\n%s", err, bytes.TrimSpace(messages.Bytes()))
	}
	report := new(Report)
	return report, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), json.Unmarshal(output.Bytes(), report)
}

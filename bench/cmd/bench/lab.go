package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"mongofork/bench/overload"
	"mongofork/tools/redact"
)

type labCmd struct {
	common
	Duration time.Duration `default:"20s" help:"How long each driver is measured."`
}

// Run measures twice the capacity before the lab, in real time and over real connections, and once more in virtual time.
func (c *labCmd) Run(ctx context.Context, console console) error {
	temp, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	s := scenario("2 ×", overload.Load{Base: 2}, c.Duration)
	all := measured{}
	every, err := c.arms()
	if err != nil {
		return err
	}
	arms := []arm{every.noRetry, every.twoRetries, every.throttled, every.newerThrottled}
	programs, err := c.compile(ctx, temp, arms)
	if err != nil {
		return err
	}
	for _, a := range arms {
		console.progressf("%s", a.name)
		virtual, err := programs.run(ctx, a, overload.Job{Scenario: s, Seed: 1})
		if err != nil {
			return err
		}
		all[key{"virtual time", a.name}] = virtual
		uri, stop, err := c.startLab(ctx, s)
		if err != nil {
			return err
		}
		realTime, err := programs.run(ctx, a, overload.Job{Scenario: s, Seed: 1, URI: uri})
		stop()
		if err != nil {
			return err
		}
		all[key{"the lab, real time", a.name}] = realTime
	}
	for _, name := range []string{"virtual time", "the lab, real time"} {
		fmt.Fprintf(console.Out, "%s\n\n%s\n", name, armTable(all, name, loadColumns(), arms...))
	}
	return nil
}

// startLab starts a lab before the server that MONGODB_URI names, and returns its connection string.
func (c *labCmd) startLab(ctx context.Context, s overload.Scenario) (uri string, stop func(), err error) {
	binary, err := filepath.Abs(c.file("build", "lab"))
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, binary, "serve", "--topology=standalone", "--port=0", "--metrics-port=0",
		fmt.Sprint("--capacity=", s.Capacity), fmt.Sprint("--queue=", overload.Queue(s.Capacity)), fmt.Sprint("--rejection-cost=", s.RejectionCost))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var messages bytes.Buffer
	cmd.Stderr = &messages
	output, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return "", nil, err
	}
	stop = func() {
		cancel()
		_ = cmd.Wait()
	}
	for lines := bufio.NewScanner(output); lines.Scan(); {
		switch name, value, _ := strings.Cut(lines.Text(), "="); name {
		case "MONGODB_URI":
			uri = value
		case "LAB_URL":
			return uri, stop, nil
		}
	}
	stop()
	return "", nil, fmt.Errorf("the lab did not start: %s", redact.URIs(strings.TrimSpace(messages.String())))
}

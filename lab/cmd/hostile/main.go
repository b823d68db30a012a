// Hostile runs the driver, in virtual time, against servers that answer anything, and reports which rules it breaks.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alecthomas/kong"

	"mongofork/lab/virtual/hostile"
	"mongofork/tools/command"
)

const description = `Runs the driver in virtual time on servers that send wrong types, lengths, indexes, cursors, times, labels, compressions and
SASL, duplicated, late and torn messages, and close connections at each offset. The driver must not panic, outlive a
deadline, report a success that no server reported, leak, or take memory, work or log lines without end.

Exit codes: 0 no finding, 1 a finding, 2 wrong usage.`

const (
	childArgument = "seeds"
	patience      = 60 * time.Second // for a seed, which takes some milliseconds
)

type cli struct {
	Seed  uint64 `default:"1" help:"The first seed."`
	Seeds uint64 `default:"1000" help:"The number of seeds."`
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == childArgument {
		child()
		return
	}
	command.Main(run)
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c cli
	return command.Program{Name: "hostile", Description: description, CLI: &c, Do: func(*kong.Context) error {
		return c.fuzz(ctx, stdout)
	}}.Run(args, stdout, stderr)
}

// child runs the seeds that it reads, and writes the findings of each. It is a test, because bubbles of synctest need one.
func child() {
	os.Args = os.Args[:1]
	test := testing.InternalTest{Name: childArgument, F: func(t *testing.T) {
		in, out := json.NewDecoder(bufio.NewReader(os.Stdin)), json.NewEncoder(os.Stdout)
		for {
			var seed uint64
			var findings []string
			if in.Decode(&seed) != nil {
				return
			}
			synctest.Test(t, func(t *testing.T) { findings = hostile.Run(t, hostile.New(seed)) })
			if out.Encode(findings) != nil {
				return
			}
		}
	}}
	testing.Main(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{test}, nil, nil)
}

// fuzz runs all seeds in a child process. If a panic in a background goroutine ends the child, it continues in a new one.
func (c *cli) fuzz(ctx context.Context, out io.Writer) error {
	broken, ran := 0, uint64(0)
	for ran < c.Seeds && ctx.Err() == nil {
		n, findings, err := c.some(ctx, c.Seed+ran, c.Seeds-ran)
		if err != nil {
			return err
		}
		ran += n
		if len(findings) > 0 && ctx.Err() == nil {
			broken++
			plan := hostile.New(c.Seed + ran - 1)
			fmt.Fprintf(out, "seed %d: %s\nplan %+v\n\n", plan.Seed, strings.Join(findings, "\n"), plan)
		}
	}
	fmt.Fprintf(out, "%d seeds from %d, %d with findings\n", ran, c.Seed, broken)
	if broken > 0 {
		return fmt.Errorf("%d seeds break a rule; repeat one with SEEDS=1 SEED=<seed>", broken)
	}
	return ctx.Err()
}

// some runs seeds in a child until one breaks a rule, and returns how many it ran, and the findings of the last.
func (c *cli) some(ctx context.Context, first, most uint64) (ran uint64, findings []string, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, nil, err
	}
	var stderr strings.Builder
	cmd := exec.CommandContext(ctx, self, childArgument)
	cmd.Env, cmd.Stderr = append(os.Environ(), "GOMAXPROCS=1", "GOGC=400"), &stderr
	in, noIn := cmd.StdinPipe()
	stdout, noOut := cmd.StdoutPipe()
	if err := errors.Join(noIn, noOut, cmd.Start()); err != nil {
		return 0, nil, err
	}
	defer func() {
		in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	orders, results := json.NewEncoder(in), json.NewDecoder(stdout)
	for ran < most && len(findings) == 0 {
		waiting := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		err := orders.Encode(first + ran)
		if err == nil {
			err = results.Decode(&findings)
		}
		ran++
		if waiting.Stop(); err != nil {
			_ = cmd.Wait()
			return ran, []string{"the process ends: " + brief(stderr.String())}, nil
		}
	}
	return ran, findings, nil
}

// brief returns the first lines of a dying process's output, and those about the driver. There are none if the process was killed.
func brief(text string) string {
	if text == "" {
		return fmt.Sprintf("it was killed after %v", patience)
	}
	lines := strings.Split(text, "\n")
	said := slices.Clone(lines[:min(3, len(lines))])
	for _, line := range lines[len(said):] {
		if strings.Contains(line, "mongo-driver") && len(said) < 20 {
			said = append(said, line)
		}
	}
	return strings.Join(said, "\n")
}

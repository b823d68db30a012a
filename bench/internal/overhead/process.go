package overhead

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"mongofork/tools/connstring"
	"mongofork/tools/redact"
)

// process is a load that waits for how many operations it is to do.
type process struct {
	name     string // of what it measures, for errors
	cmd      *exec.Cmd
	numbers  io.WriteCloser
	samples  *bufio.Scanner
	messages bytes.Buffer
}

// start starts the load of an arm and a case.
func (c Config) start(ctx context.Context, arm Arm, cs Case) (*process, error) {
	p := &process{name: fmt.Sprintf("%s with %s", cs, arm.Name)}
	p.cmd = exec.CommandContext(ctx, arm.Program, "-workload", cs.Workload,
		"-goroutines", strconv.Itoa(cs.Goroutines), "-database", c.Database)
	// It may have a password, and every user of the machine can read arguments.
	p.cmd.Env = append(os.Environ(), "MONGODB_URI="+connstring.With(c.URI, arm.Options))
	p.cmd.Stderr = &p.messages
	var err error
	if p.numbers, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.samples = bufio.NewScanner(output)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", p.name, err)
	}
	return p, nil
}

// measure makes the load do n operations, and returns the cost of one.
func (p *process) measure(ctx context.Context, n int) (map[string]float64, error) {
	_, err := fmt.Fprintln(p.numbers, n)
	if err == nil && p.samples.Scan() {
		return parseSample(p.samples.Bytes())
	}
	// It has ended, and may have said why.
	if said := p.close(); said != nil {
		err = said
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return nil, cmp.Or(err, fmt.Errorf("%s: %w", p.name, io.ErrUnexpectedEOF))
}

// close ends the load and returns why it failed. Another call does nothing.
func (p *process) close() error {
	if p.cmd.ProcessState != nil {
		return nil
	}
	_ = p.numbers.Close()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w\n%s", p.name, err, redact.URIs(strings.TrimSpace(p.messages.String())))
	}
	return nil
}

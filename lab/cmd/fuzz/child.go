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
)

// patience is for one order, which takes some milliseconds.
const patience = 60 * time.Second

// serve carries out the orders that it reads, each in a bubble, and writes a result for each. Bubbles need a test, so it is one.
func serve[Order, Result any](do func(*testing.T, Order) Result) {
	os.Args = os.Args[:1]
	test := testing.InternalTest{Name: "orders", F: func(t *testing.T) {
		in, out := json.NewDecoder(bufio.NewReader(os.Stdin)), json.NewEncoder(os.Stdout)
		for {
			var order Order
			var result Result
			if in.Decode(&order) != nil {
				return
			}
			synctest.Test(t, func(t *testing.T) { result = do(t, order) })
			if out.Encode(result) != nil {
				return
			}
		}
	}}
	testing.Main(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{test}, nil, nil)
}

// child is a process that serves orders, started when it is needed. A panic in a background goroutine ends it, and an order may have no
// end; the next order has a new one.
type child[Order, Result any] struct {
	ctx           context.Context
	program, what string

	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *json.Decoder
	stderr strings.Builder
}

// run returns the result of an order, or what the child said before it died.
func (c *child[Order, Result]) run(order Order) (result Result, died string) {
	if c.cmd == nil {
		if err := c.start(); err != nil {
			return result, err.Error()
		}
	}
	waiting := time.AfterFunc(patience, func() { _ = c.cmd.Process.Kill() })
	err := json.NewEncoder(c.in).Encode(order)
	if err == nil {
		err = c.out.Decode(&result)
	}
	if waiting.Stop() && err == nil {
		return result, ""
	}
	c.close()
	return result, excerpt(c.stderr.String())
}

func (c *child[Order, Result]) start() error {
	c.stderr.Reset()
	cmd := exec.CommandContext(c.ctx, c.program, c.what)
	cmd.Env, cmd.Stderr = append(os.Environ(), "GOMAXPROCS=1", "GOGC=400", "GODEBUG=asyncpreemptoff=1"), &c.stderr
	in, noIn := cmd.StdinPipe()
	out, noOut := cmd.StdoutPipe()
	c.in, c.out = in, json.NewDecoder(out)
	if err := errors.Join(noIn, noOut, cmd.Start()); err != nil {
		return err
	}
	c.cmd = cmd
	return nil
}

func (c *child[Order, Result]) close() {
	if c.cmd != nil {
		c.in.Close()
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
		c.cmd = nil
	}
}

// excerpt returns the first lines of a dying process's output, and those about the driver. There are none if the process was killed.
func excerpt(text string) string {
	if text == "" {
		return fmt.Sprintf("it was killed after %v, in a loop in which no time passes", patience)
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

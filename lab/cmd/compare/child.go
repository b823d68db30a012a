package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mongofork/lab/virtual/trial"
)

const (
	childArgument = "trials"
	patience      = 30 * time.Second // for a trial, which takes some milliseconds
	stuck         = "it does not end: a loop in which no time passes"
)

// order asks a child for a trial.
type order struct {
	Plan trial.Plan
	Salt uint64 // makes drivers draw other numbers
	// Keeps is whether it keeps lines, and Strict whether nothing but rejections goes wrong.
	Keeps, Strict bool
}

// child runs the plans that it reads, and writes a trace for each. Bubbles need a test, so it is one.
func child() {
	os.Args = os.Args[:1]
	test := testing.InternalTest{Name: "trials", F: func(t *testing.T) {
		in, out := json.NewDecoder(bufio.NewReader(os.Stdin)), json.NewEncoder(os.Stdout)
		for {
			var o order
			if in.Decode(&o) != nil {
				return
			}
			var trace trial.Trace
			synctest.Test(t, func(t *testing.T) { trace = trial.Run(t, o.Plan, o.Salt, o.Keeps, o.Strict) })
			if out.Encode(trace) != nil {
				return
			}
		}
	}}
	testing.Main(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{test}, nil, nil)
}

// driver is a child process with a driver, started when it is needed.
type driver struct {
	ctx     context.Context
	program string

	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *json.Decoder
	stderr bytes.Buffer
}

// run runs a plan. A child that dies, or does not end, is the plan's result, too.
func (d *driver) run(o order) trial.Trace {
	if d.cmd == nil {
		if err := d.start(); err != nil {
			return trial.Trace{Crash: err.Error()}
		}
	}
	waiting := time.AfterFunc(patience, func() { _ = d.cmd.Process.Kill() })
	var trace trial.Trace
	err := json.NewEncoder(d.in).Encode(o)
	if err == nil {
		err = d.out.Decode(&trace)
	}
	if waiting.Stop() && err == nil {
		return trace
	}
	d.close()
	text, _, _ := strings.Cut(cmp.Or(d.stderr.String(), stuck), "\n\n")
	return trial.Trace{Crash: text}
}

func (d *driver) start() error {
	d.stderr.Reset()
	cmd := exec.CommandContext(d.ctx, d.program, childArgument)
	cmd.Env, cmd.Stderr = append(os.Environ(), "GOMAXPROCS=1", "GOGC=400", "GODEBUG=asyncpreemptoff=1"), &d.stderr
	in, noIn := cmd.StdinPipe()
	out, noOut := cmd.StdoutPipe()
	d.in, d.out = in, json.NewDecoder(out)
	if err := errors.Join(noIn, noOut, cmd.Start()); err != nil {
		return err
	}
	d.cmd = cmd
	return nil
}

func (d *driver) close() {
	if d.cmd != nil {
		d.in.Close()
		_ = d.cmd.Process.Kill()
		_ = d.cmd.Wait()
		d.cmd = nil
	}
}

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
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mongofork/lab/virtual/trial"
)

// patience is for one order, which takes some milliseconds.
const patience = 60 * time.Second

// order asks a driver for a trial.
type order struct {
	Seed    uint64
	Hostile bool // whether servers are hostile
	Without bool // whether it is to be without the faults that retries get over
}

func (o order) plan() trial.Plan {
	switch {
	case o.Hostile:
		return trial.NewHostile(o.Seed)
	case o.Without:
		return trial.New(o.Seed).Without()
	}
	return trial.New(o.Seed)
}

// serve carries out the orders that it reads, each in a bubble, and writes a trace for each. Bubbles need a test, so it is one.
func serve() {
	os.Args = os.Args[:1]
	test := testing.InternalTest{Name: "orders", F: func(t *testing.T) {
		in, out := json.NewDecoder(bufio.NewReader(os.Stdin)), json.NewEncoder(os.Stdout)
		for {
			var o order
			if in.Decode(&o) != nil {
				return
			}
			synctest.Test(t, func(t *testing.T) {
				if out.Encode(trial.Run(t, o.plan())) != nil {
					os.Exit(1)
				}
			})
		}
	}}
	testing.Main(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{test}, nil, nil)
}

// driver is a process that serves orders, started when it is needed. A panic in a background goroutine ends it, and an order may have no
// end; the next order has a new one.
type driver struct {
	ctx     context.Context
	program string

	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *json.Decoder
	stderr strings.Builder
}

// run returns the trace of an order, with what the process said if it died.
func (d *driver) run(o order) (t trial.Trace) {
	if d.cmd == nil {
		if err := d.start(); err != nil {
			return trial.Trace{Crash: err.Error()}
		}
	}
	waiting := time.AfterFunc(patience, func() { _ = d.cmd.Process.Kill() })
	err := json.NewEncoder(d.in).Encode(o)
	if err == nil {
		err = d.out.Decode(&t)
	}
	if waiting.Stop() && err == nil {
		return t
	}
	d.close()
	said := d.stderr.String()
	if said == "" {
		said = fmt.Sprintf("it was killed after %v, in a loop in which no time passes", patience)
	}
	return trial.Trace{Crash: "the process ends: " + said[:min(len(said), 4000)]}
}

func (d *driver) start() error {
	d.stderr.Reset()
	cmd := exec.CommandContext(d.ctx, d.program, serving)
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

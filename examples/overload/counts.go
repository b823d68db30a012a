package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// counts holds the workers' common counts.
type counts struct {
	operations     atomic.Int64
	errors         atomic.Int64
	overloadErrors atomic.Int64
	commands       atomic.Int64
	reports        atomic.Int64
	reportErrors   atomic.Int64

	mu sync.Mutex
	// texts holds one error of each kind of operation.
	texts map[string]error
}

func (c *counts) command(context.Context, *event.CommandStartedEvent) { c.commands.Add(1) }

// report counts a report and what it returned.
func (c *counts) report(err error) {
	c.reports.Add(1)
	if err != nil {
		c.reportErrors.Add(1)
	}
}

// operation counts an operation and what it returned.
func (c *counts) operation(name string, err error) {
	c.operations.Add(1)
	if err == nil {
		return
	}
	c.errors.Add(1)
	if isOverload(err) {
		c.overloadErrors.Add(1)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.texts == nil {
		c.texts = make(map[string]error)
	}
	if _, ok := c.texts[name]; !ok {
		c.texts[name] = err
	}
}

func isOverload(err error) bool {
	var labelled mongo.LabeledError
	return errors.As(err, &labelled) && labelled.HasErrorLabel("SystemOverloadedError")
}

func (c *counts) summary() *summary {
	return &summary{
		Operations:     c.operations.Load(),
		Errors:         c.errors.Load(),
		OverloadErrors: c.overloadErrors.Load(),
		Commands:       c.commands.Load(),
		Reports:        c.reports.Load(),
		ReportErrors:   c.reportErrors.Load(),
	}
}

// showProgress prints the counts every second until the returned function is called, which prints the final ones and an
// example of each kind of error.
func (c *counts) showProgress(w io.Writer, total int64) (stop func()) {
	show := func() {
		fmt.Fprintf(w, "  %d of %d operations, %d errors\n", c.operations.Load(), total, c.errors.Load())
	}
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				show()
			case <-done:
				return
			}
		}
	}()
	return func() {
		close(done)
		<-stopped
		show()
		for _, o := range operations {
			if err, ok := c.texts[o.name]; ok {
				fmt.Fprintf(w, "  an error of %s: %v\n", o.name, err)
			}
		}
	}
}

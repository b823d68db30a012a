package suite

import (
	"fmt"
	"io"
	"sync"
	"time"

	"mongofork/tools/gotest"
)

// progressInterval is the time between a running suite's progress reports.
const progressInterval = 5 * time.Second

// Progress shows what happens while suites run. It is safe for concurrent use.
type Progress struct {
	now func() time.Time

	mu sync.Mutex
	w  io.Writer
}

// NewProgress returns a Progress that writes lines to w.
func NewProgress(w io.Writer, now func() time.Time) *Progress {
	return &Progress{w: w, now: now}
}

// Step reports that a suite begins.
func (p *Progress) Step(number, total int, name string) {
	p.Printf("[%d/%d] %s", number, total, name)
}

// Printf writes one line.
func (p *Progress) Printf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.w, format+"\n", args...)
}

// Counter returns a function that counts ended tests and from time to time reports the count and the last test.
func (p *Progress) Counter(label string) func(gotest.Key, gotest.Outcome) {
	last := p.now()
	var passed, failed, skipped int
	return func(key gotest.Key, outcome gotest.Outcome) {
		if key.Test != "" {
			switch outcome {
			case gotest.Passed:
				passed++
			case gotest.Failed:
				failed++
			case gotest.Skipped:
				skipped++
			}
		}
		if now := p.now(); now.Sub(last) >= progressInterval {
			last = now
			p.Printf("      %s: %d passed, %d failed, %d skipped so far (%s)", label, passed, failed, skipped, key)
		}
	}
}

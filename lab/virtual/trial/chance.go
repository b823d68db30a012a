package trial

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// Chance is where drivers draw random numbers: a number depends on the plan's seed, the time, and what draws in which worker, and how
// often at this instant. So it is the same in all runs, and in both drivers, however often either has drawn before.
type Chance struct {
	seed uint64

	mu    sync.Mutex
	at    time.Time
	drawn map[string]uint64
	// workers are the plan's, by their goroutines, as most of what a driver reports, and all that it draws, tells of no call.
	workers map[string]int
}

func newChance(seed uint64) *Chance { return &Chance{seed: seed, workers: map[string]int{}} }

// Draw returns a number for what draws.
func (c *Chance) Draw(what string) uint64 {
	what = fmt.Sprint(what, c.current())
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); !now.Equal(c.at) {
		c.at, c.drawn = now, map[string]uint64{}
	}
	c.drawn[what]++
	hash := sha256.Sum256(fmt.Append(nil, c.seed, c.at.UnixNano(), c.drawn[what], what))
	return binary.BigEndian.Uint64(hash[:])
}

// Read implements io.Reader, for what reads crypto/rand.
func (c *Chance) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(c.Draw("bytes"))
	}
	return len(p), nil
}

// enter makes the goroutine a worker's.
func (c *Chance) enter(number int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.workers[goroutine()] = number
}

// current returns the worker's number, or 0 for a goroutine of the driver's.
func (c *Chance) current() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.workers[goroutine()]
}

// turn returns how long the worker waits where several may be ready at one instant, so that it is not by chance which one is the first.
func (c *Chance) turn() time.Duration {
	return time.Duration(max(0, c.current()-1)) * time.Microsecond
}

// goroutine returns the name of the current one.
func goroutine() string {
	stack := make([]byte, 32)
	name, _, _ := bytes.Cut(stack[:runtime.Stack(stack, false)], []byte("["))
	return string(name)
}

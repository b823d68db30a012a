package trial

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync"
	"time"
)

// Chance is where drivers draw random numbers: a number depends on the plan's seed, the time, what draws, and how often at this instant.
// So it is the same in all runs, and in both drivers, however often either has drawn before.
type Chance struct {
	Seed uint64

	mu    sync.Mutex
	at    time.Time
	drawn map[string]uint64
}

// Draw returns a number for what draws.
func (c *Chance) Draw(what string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); !now.Equal(c.at) {
		c.at, c.drawn = now, map[string]uint64{}
	}
	c.drawn[what]++
	hash := sha256.Sum256(fmt.Append(nil, c.Seed, c.at.UnixNano(), c.drawn[what], what))
	return binary.BigEndian.Uint64(hash[:])
}

// Read implements io.Reader, for what reads crypto/rand.
func (c *Chance) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(c.Draw("bytes"))
	}
	return len(p), nil
}

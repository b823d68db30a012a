// Package arrival is an open-loop load: when operations arrive, regardless of earlier ones. Simulations and measurements share
// it, so that they can be compared.
package arrival

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Load is the rate at which operations arrive, as a multiple of the capacity of all servers.
type Load struct {
	// Base is the load between bursts.
	Base float64 `json:"base"`
	// Peak is the load for the time Burst at the start of each Period; the first Period starts at Start. Without a Period the
	// load is always Base.
	Peak   float64       `json:"peak,omitempty"`
	Start  time.Duration `json:"start_ns,omitempty"`
	Burst  time.Duration `json:"burst_ns,omitempty"`
	Period time.Duration `json:"period_ns,omitempty"`
}

// Check reports everything that is wrong with the load.
func (l Load) Check() error {
	var errs []error
	if l.Base < 0 || l.highest() <= 0 {
		errs = append(errs, fmt.Errorf("load is %v, must be positive", l.highest()))
	}
	if l.Period != 0 && l.Burst > l.Period {
		errs = append(errs, fmt.Errorf("burst of %v is longer than its period of %v", l.Burst, l.Period))
	}
	return errors.Join(errs...)
}

// Next returns the time of the first arrival after a time, where servers serve so many operations a second. Arrivals are a
// Poisson process; those of a varying load are the arrivals of a steady one at its peak, thinned out.
func (l Load) Next(random *rand.Rand, now time.Duration, capacity float64) time.Duration {
	highest := l.highest()
	for {
		now += time.Duration(random.ExpFloat64() / (highest * capacity) * float64(time.Second))
		if load := l.at(now); load == highest || random.Float64()*highest < load {
			return now
		}
	}
}

// at returns the load at a time.
func (l Load) at(now time.Duration) float64 {
	if l.Period > 0 && now >= l.Start && (now-l.Start)%l.Period < l.Burst {
		return l.Peak
	}
	return l.Base
}

// highest returns the highest load.
func (l Load) highest() float64 {
	if l.Period > 0 {
		return max(l.Base, l.Peak)
	}
	return l.Base
}

// NewRandom returns the source of randomness of a seed.
func NewRandom(seed uint64) *rand.Rand {
	// Two words of seed, so that neighbouring seeds share nothing.
	return rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
}

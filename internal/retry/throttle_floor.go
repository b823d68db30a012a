package retry

import (
	"math"
	"time"
)

// Floor is the share of the first attempts of commands that is always sent. It is small among clients that all hold back, and
// rises beside clients that don't: there, little of what is sent is accepted although attempts are held back, and whoever gave way
// would be left with nothing.
type Floor struct {
	// Least is the share without others.
	Least float64
	// Reserve is the share of all attempts that is kept for first attempts of higher classes while there are lower ones to give it
	// up. Without it, a client whose share of the capacity has become small by chance would lose what is critical, too, though the
	// others send what is not.
	Reserve float64
	// Low and High are shares of the accepted among what is sent. While less than Low is accepted, the Reserve is given up, and once
	// that has lasted as long as Patience, the floor rises. While more than High is, the floor falls, and then the Reserve comes back.
	// Between clients that hold back, 1/K is accepted, which is more.
	Low, High float64
	Patience  time.Duration
	// Pace is by how much the floor, and the part of the Reserve that is kept, rise or fall in a second.
	Pace float64
	// Sample is the number of attempts that the share of the accepted is known by. A client that sends fewer within Patience does
	// not know enough, and its floor stays.
	Sample int
}

func defaultFloor() Floor {
	return Floor{Least: 0.01, Reserve: 0.2, Low: 0.65, High: 0.8, Patience: 4 * time.Second, Pace: 0.5, Sample: 20}
}

// floorState is the present floor.
type floorState struct {
	share    float64
	reserve  float64       // the part of the Reserve that is kept
	accepted float64       // share of recently sent attempts
	low      time.Duration // for how long that has been low
}

// start returns the floor at a first rejection.
func (f Floor) start() floorState { return floorState{share: f.Least, reserve: 1, accepted: 1} }

// move raises or lowers the floor at the end of an attempt that was sent, given the time since the last one and what that usually
// is.
func (s *floorState) move(rule Floor, accepted bool, elapsed, gap time.Duration) {
	s.accepted -= s.accepted / float64(rule.Sample)
	if accepted {
		s.accepted += 1 / float64(rule.Sample)
	}
	if time.Duration(rule.Sample)*gap > rule.Patience {
		return
	}
	step := rule.Pace * elapsed.Seconds()
	switch {
	case s.accepted < rule.Low:
		s.low += elapsed
		if s.reserve > 0 {
			s.reserve = math.Max(0, s.reserve-step)
		} else if s.low > rule.Patience {
			s.share = math.Min(1, s.share+step)
		}
	case s.accepted > rule.High:
		s.low = 0
		if s.share > rule.Least {
			s.share = math.Max(rule.Least, s.share-step)
		} else {
			s.reserve = math.Min(1, s.reserve+step)
		}
	case s.share <= rule.Least:
		s.low = 0
	}
}

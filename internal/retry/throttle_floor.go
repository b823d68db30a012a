package retry

import (
	"math"
	"time"
)

// Floor is the share of the first attempts of commands that is always sent. It rises if less is accepted of what is sent than 1/K, beside
// clients that do not hold back, or because the server rejects some commands whatever is sent.
type Floor struct {
	// Least is the share while holding back helps.
	Least float64
	// Reserve is the share of all attempts that is kept for first attempts of higher classes while there are lower ones to give it
	// up. It may cause rejections, so it goes before the floor rises.
	Reserve float64
	// Margin is how many more rejections than 1-1/K each attempt may meet, and Evidence how many more there have to be in all: two
	// numbers of a cumulative sum. As K grows while nothing is rejected, what is accepted counts at most as if Usual were 1-1/K.
	// Attempts within Spacing of each other count as one, because they share their fate.
	Margin, Evidence, Usual float64
	Spacing                 time.Duration
	// Much is the share of rejections above which Quick evidence is enough. It counts from the start, until holding back has helped.
	Much, Quick float64
	// Most is where the floor rises to, and further, to 1, while first attempts are accepted nearly as often as before, the share
	// Unmoved, of what is known by a Sample of them.
	Most, Unmoved, Sample float64
	// A rise is a trial: if less than the share Unmoved is accepted, of at least Worth, load is the cause: the floor falls, and Wary
	// times the evidence is enough. After quick evidence, as neighbours answer with rejections, or once the floor is 1, as chance has
	// many occasions, the share is Lost. What began below Worth ends after Blind, unless less is rejected then than Much.
	Lost, Worth, Wary float64
	Blind             time.Duration
	// Pace is by how much the floor, and the part of the Reserve that is kept, rise or fall in a second. Above Most it is a third.
	Pace float64
}

func defaultFloor() Floor {
	return Floor{
		Least: 0.01, Reserve: 0.2,
		Margin: 0.02, Evidence: 12, Usual: 0.4, Spacing: 25 * time.Millisecond,
		Much: 0.35, Quick: 4,
		Most: 0.62, Unmoved: 0.87, Sample: 50, Lost: 0.5, Worth: 0.2, Wary: 10, Blind: 7 * time.Second, Pace: 0.5,
	}
}

// floorState is the present floor.
type floorState struct {
	share           float64
	reserve         float64       // the part of the Reserve that is kept
	evidence, quick float64       // that holding back does not help
	enough          float64       // of the evidence
	helped, quickly bool          // whether holding back has helped, and whether the floor rose by quick evidence
	accepted, known float64       // share of recent first attempts, and by how many
	before          float64       // that share when the floor began to rise
	rising          time.Duration // since then; 0 if it does not
}

// start returns the floor at a first rejection.
func (f Floor) start() floorState { return floorState{share: f.Least, reserve: 1, enough: f.Evidence} }

// sample is the end of an attempt that was sent.
type sample struct {
	accepted, first bool
	usual           float64 // share of rejections, if holding back helps
	lasts           bool    // the overload
}

// learn counts an attempt, given the time since the last one.
func (s *floorState) learn(rule Floor, a sample, elapsed time.Duration) {
	weight := math.Min(1, float64(elapsed)/float64(rule.Spacing))
	rejected, usual := 1.0, a.usual
	if a.accepted {
		rejected, usual = 0, math.Min(a.usual, rule.Usual)
	}
	if a.first {
		s.known = math.Min(rule.Sample, s.known+weight)
		s.accepted += weight * (1 - rejected - s.accepted) / math.Max(1, s.known)
	}
	if !s.helped {
		s.quick = cumulated(s.quick, weight*(rejected-math.Max(rule.Much, a.usual)), rule.Quick)
		s.helped = a.lasts && s.quick == 0
	}
	if a.lasts {
		s.evidence = cumulated(s.evidence, weight*(rejected-usual-rule.Margin), s.enough)
	}
}

// again begins another overload, of which it is not known whether holding back helps. The floor stays until its reasons are gone.
func (s *floorState) again(rule Floor) {
	s.helped, s.enough = false, rule.Evidence
	s.evidence = cumulated(s.evidence, 0, s.enough)
}

// cumulated returns a sum that is never negative, and hardly more than what is enough, so that it ends soon after its reason.
func cumulated(sum, more, enough float64) float64 {
	return math.Max(0, math.Min(1.25*enough, sum+more))
}

// move raises or lowers the floor, given the time since it was last moved.
func (s *floorState) move(rule Floor, inClasses bool, elapsed time.Duration) {
	step := rule.Pace * math.Min(1, elapsed.Seconds())
	enough := s.evidence >= s.enough || s.quick >= rule.Quick
	some := s.evidence >= s.enough/2 || s.quick >= rule.Quick/2
	switch {
	case enough && inClasses && s.reserve > 0:
		if s.reserve = math.Max(0, s.reserve-step); s.reserve == 0 {
			s.evidence, s.quick, s.known = 0, math.Min(s.quick, rule.Quick/2), 0 // it may have been the cause
		}
	case enough || (some && s.rising > 0):
		s.rise(rule, step, elapsed)
	case !some:
		s.rising = 0
		s.share = math.Max(rule.Least, s.share-step)
		if s.evidence == 0 && s.quick == 0 {
			s.reserve = math.Min(1, s.reserve+step)
		}
	}
}

// rise raises the floor by a step, unless the last ones did harm.
func (s *floorState) rise(rule Floor, step float64, elapsed time.Duration) {
	if s.rising == 0 {
		s.before, s.quickly = s.accepted, s.quick >= rule.Quick
	}
	s.rising += elapsed
	unmoved := s.accepted >= rule.Unmoved*s.before
	lost := s.accepted < rule.Lost*s.before || (!unmoved && !s.quickly && s.share < 1)
	judged := s.before >= rule.Worth
	switch {
	case judged && lost, !judged && s.rising > rule.Blind && s.accepted < 1-rule.Much:
		s.share, s.rising, s.evidence, s.quick, s.known = rule.Least, 0, 0, 0, 0
		if judged {
			s.enough = rule.Wary * rule.Evidence
		}
	case s.share < rule.Most:
		s.share = math.Min(rule.Most, s.share+step)
	case unmoved || !s.quickly:
		s.share = math.Min(1, s.share+step/3)
	default:
		s.share = math.Max(rule.Most, s.share-step)
	}
}

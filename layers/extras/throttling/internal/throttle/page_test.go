package throttle

import (
	"math"
	"math/rand"
	"testing"
	"time"
)

// TestPage: the rule decides as docs/throttling.md says, written down here again from its pseudocode, with a list of all that happened in
// the place of weights. Attempts of all kinds arrive at a server that accepts more and less of them.
func TestPage(t *testing.T) {
	for seed := int64(1); seed <= 16; seed++ {
		random := rand.New(rand.NewSource(seed))
		scope := []Scope{Retries, All}[seed%2]
		s := newSubject(scope)
		p := &page{now: s.at, optionSet: scope == All}
		var decided [TooLate + 1]int
		accepts := 1.0
		for i := 0; i < 2000; i++ {
			if random.Intn(200) == 0 {
				accepts = []float64{0, 0.3, 0.7, 0.9, 1}[random.Intn(5)]
			}
			pause := time.Duration(random.ExpFloat64() * float64(20*ms))
			if random.Intn(300) == 0 {
				pause = time.Duration(random.Float64() * float64(90*time.Second))
			}
			s.at, s.draw = s.at.Add(pause), random.Float64()
			p.now = s.at
			a := Attempt{
				Class: int8(random.Intn(3) - 1), Write: false, First: random.Intn(3) > 0, Continues: random.Intn(8) == 0,
				Routed: seed%8 < 2, Left: time.Duration(random.Intn(100)),
			}
			want, got := p.decide(a, s.draw), s.Decide(a)
			if want != got {
				t.Fatalf("seed %d, attempt %d: %+v is decided %v, by the page %v", seed, i, a, got, want)
			}
			decided[got]++
			if got == Send {
				rejected, took := random.Float64() >= accepts, time.Duration(random.Intn(20))
				p.ended(a, rejected, took)
				s.Ended(a, rejected, took)
			}
		}
		for d, n := range decided {
			if never := Decision(d) == Withhold && scope == Retries; never != (n == 0) {
				t.Errorf("seed %d: %d times it is decided %v", seed, n, Decision(d))
			}
		}
	}
}

// page is the rule of docs/throttling.md, of reads.
type page struct {
	optionSet                 bool // adaptiveThrottling=true
	now                       time.Time
	known                     bool
	events                    []pageEvent // since the first rejection, without those that continue something
	tokens, kept              float64
	takes                     time.Duration
	sent                      time.Time
	rejection, overload, last time.Time
	acceptedSince             int // the last that was rejected or withheld
}

type pageEvent struct {
	at             time.Time
	class          int8
	first          bool
	sent, accepted bool
}

// weigh returns the weight of the events for which something holds.
func (p *page) weigh(holds func(pageEvent) bool) (weight float64) {
	for _, e := range p.events {
		if holds(e) {
			weight += math.Exp(-p.now.Sub(e.at).Seconds() / 10)
		}
	}
	return weight
}

func (p *page) q(firsts bool) float64 {
	sent := p.weigh(func(e pageEvent) bool { return e.sent && (e.first || !firsts) })
	accepted := p.weigh(func(e pageEvent) bool { return e.accepted && (e.first || !firsts) })
	if sent == 0 || accepted == sent {
		return 1
	}
	return accepted / sent
}

func (p *page) k() float64 {
	calm := p.now.Sub(p.rejection).Seconds() - 0.5
	return 1.25 * math.Exp(math.Max(0, calm)/1)
}

func (p *page) decide(a Attempt, r float64) Decision {
	if p.known && p.now.Sub(p.rejection) > 10*time.Second {
		p.known = false
	}
	if !p.known {
		return Send
	}
	n := p.weigh(func(pageEvent) bool { return true })
	lower := p.weigh(func(e pageEvent) bool { return e.class < a.Class })
	own := math.Max(1, p.weigh(func(e pageEvent) bool { return e.class == a.Class }))
	kq := p.k() * p.q(a.First)
	hold := math.Max(0, (n-n*math.Pow(math.Min(1, kq), 4.5*(1-lower/math.Max(1, n)))-lower)/own)
	d := p.decideBy(a, r, hold, kq)
	if d == Send {
		p.sent = p.now
		return d
	}
	if !a.Continues {
		p.events = append(p.events, pageEvent{at: p.now, class: a.Class, first: a.First})
	}
	p.pressed()
	return d
}

func (p *page) decideBy(a Attempt, r, hold, kq float64) Decision {
	few := p.weigh(func(e pageEvent) bool { return e.first }) < 6
	if !p.optionSet && (a.First || !few && !p.lasts(1)) {
		return Send
	}
	if !a.First && a.Left < p.takes {
		return TooLate
	}
	var sent bool
	switch {
	case a.Continues:
		sent = a.First || takes(&p.kept)
	case few:
		sent = a.First || a.Class > 0 || takes(&p.tokens)
	case a.Routed:
		sent = a.First || kq >= 1
	default:
		sent = r >= hold || p.now.Sub(p.sent) >= time.Second
	}
	if sent {
		return Send
	}
	if !p.optionSet || !a.First && !a.Continues && p.lasts(3) && r < hold*hold {
		return GiveUp
	}
	return Withhold
}

func takes(tokens *float64) bool {
	if *tokens < 1 {
		return false
	}
	*tokens--
	return true
}

func (p *page) over() bool {
	return p.last.IsZero() || p.now.Sub(p.last) > time.Second && p.acceptedSince >= 3
}

func (p *page) lasts(seconds float64) bool {
	return !p.over() && p.now.Sub(p.overload).Seconds() > seconds
}

func (p *page) pressed() {
	if p.over() {
		p.overload = p.now
	}
	p.last, p.acceptedSince = p.now, 0
}

func (p *page) ended(a Attempt, rejected bool, took time.Duration) {
	switch {
	case rejected && !p.known:
		tokens, kept := p.tokens, p.kept
		if p.rejection.IsZero() || p.now.Sub(p.rejection) > time.Minute {
			if kept = 10; !p.optionSet {
				tokens = 10
			}
		}
		*p = page{optionSet: p.optionSet, now: p.now, known: true, tokens: tokens, kept: kept, sent: p.now}
	case !p.known:
		return
	}
	if rejected {
		p.rejection = p.now
		p.pressed()
	} else {
		p.accepted(a, took)
	}
	if !a.Continues {
		p.events = append(p.events, pageEvent{at: p.now, class: a.Class, first: a.First, sent: true, accepted: !rejected})
	}
}

func (p *page) accepted(a Attempt, took time.Duration) {
	p.acceptedSince++
	tokens := &p.tokens
	if a.Continues {
		tokens = &p.kept
	}
	if !a.First {
		*tokens++ // in this order, as a sum of fractions depends on it
	}
	*tokens = math.Min(*tokens+0.1, 10)
	switch {
	case a.Continues: // it may have waited for data or locks
	case took > 0 && p.takes == 0:
		p.takes = took
	case took > 0:
		p.takes += (took - p.takes) / 8
	}
}

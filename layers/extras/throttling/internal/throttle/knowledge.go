package throttle

import (
	"math"
	"sync"
	"time"
)

// counts are weights of attempts that were sent and have ended, which decay.
type counts struct{ sent, accepted float64 }

// knowledge is what a Throttle knows of the reads or of the writes of its server, since the first rejection.
type knowledge struct {
	mu     sync.Mutex
	at     time.Time  // when the weights had these values: see decay
	all    counts     // without those that continue something
	firsts counts     // of these, the first of their commands
	begun  float64    // the first ones, including those that were withheld
	wanted [3]float64 // all, including those that were withheld, of each class from the least critical

	tokens, kept float64       // for retries while begun is below few, and for those of what continues something
	took         time.Duration // how long the server recently took for what it accepted, a mean

	sent     time.Time // the last attempt
	rejected time.Time // the last of these
	pressed  time.Time // the last that was rejected or withheld
	calm     int       // accepted since then
	began    time.Time // the overload
}

// begin begins to know a server, at its first rejection. Without the option, retries have all tokens then: nothing is known that would
// judge them. With it, they have to wait until some succeed.
func (k *knowledge) begin(scope Scope, now time.Time) {
	if now.Sub(k.rejected) > rest { // or never before
		k.kept = mostTokens
		if scope == Retries {
			k.tokens = mostTokens
		}
	}
	k.at, k.sent, k.rejected = now, now, now
	k.all, k.firsts, k.begun, k.wanted = counts{}, counts{}, 0, [3]float64{}
	k.took, k.pressed = 0, time.Time{}
}

// decay lowers the weights to those of now. A clock may go back.
func (k *knowledge) decay(now time.Time) {
	if !now.After(k.at) {
		return
	}
	weight := math.Exp(-float64(now.Sub(k.at)) / float64(memory))
	for _, w := range []*float64{
		&k.all.sent, &k.all.accepted, &k.firsts.sent, &k.firsts.accepted, &k.begun, &k.wanted[0], &k.wanted[1], &k.wanted[2],
	} {
		*w *= weight
	}
	k.at = now
}

// decideIn decides about an attempt of a client that withholds what is in the scope, given a random number in [0, 1).
func (k *knowledge) decideIn(scope Scope, a Attempt, now time.Time, draw float64) Decision {
	switch {
	case scope == All:
		return k.decide(a, now, draw)
	case a.First || k.begun >= few && !k.lasts(now, second): // retries carry bursts; with less knowledge, tokens pay for them
		return Send
	}
	d := k.decide(a, now, draw)
	if d == Withhold {
		d = GiveUp // with the server's error: a further retry would be withheld, too
	}
	return d
}

// decide decides about an attempt, given a random number in [0, 1).
func (k *knowledge) decide(a Attempt, now time.Time, draw float64) Decision {
	p := k.probability(a, now)
	switch {
	case !a.First && a.Left < k.took:
		return TooLate
	case k.sends(a, now, draw >= p):
		return Send
	case !a.First && !a.Continues && k.lasts(now, brief) && draw < p*p: // the share p of what is withheld
		return GiveUp
	default:
		return Withhold
	}
}

// sends reports whether an attempt is sent, given what was drawn for it.
func (k *knowledge) sends(a Attempt, now time.Time, drawn bool) bool {
	switch {
	case a.Continues:
		return a.First || pay(&k.kept)
	case k.begun < few:
		return a.First || a.Class > 0 || pay(&k.tokens)
	case a.Routed:
		return a.First || k.sendable(k.all, now) == 1 // a first attempt may be for a server that is not overloaded
	default:
		return drawn || now.Sub(k.sent) >= second // else the end of the overload would go unnoticed
	}
}

// probability returns p, by which an attempt is withheld. Less critical ones are withheld first, and the more of them
// there are, the less follows from a rejection. First attempts are judged by first attempts: of a few commands that are always rejected,
// only the retries are too many.
func (k *knowledge) probability(a Attempt, now time.Time) float64 {
	judged := k.all
	if a.First {
		judged = k.firsts
	}
	var n, lower float64
	for class, wanted := range k.wanted {
		if n += wanted; class <= int(a.Class) {
			lower = n // k.wanted[class] is of Class class-1
		}
	}
	may := math.Pow(k.sendable(judged, now), exponent*(1-lower/math.Max(n, 1)))
	return math.Max(0, (n*(1-may)-lower)/math.Max(k.wanted[a.Class+1], 1)) // what lower classes leave to withhold, as a part of its own
}

// sendable returns K times the share of the attempts that was accepted of those that were sent, but at most 1.
func (k *knowledge) sendable(c counts, now time.Time) float64 {
	if c.accepted >= c.sent {
		return 1
	}
	grown := math.Max(0, float64(now.Sub(k.rejected)-patience)/float64(second))
	return math.Min(1, slack*math.Exp(grown)*c.accepted/c.sent)
}

// count counts the end of an attempt; sent and accepted are 1 or 0. What continues something is not counted: its first attempts are always
// sent, and its retries take tokens of their own.
func (k *knowledge) count(a Attempt, sent, accepted float64) {
	if a.Continues {
		return
	}
	k.wanted[a.Class+1]++
	k.all = counts{k.all.sent + sent, k.all.accepted + accepted}
	if a.First {
		k.begun++
		k.firsts = counts{k.firsts.sent + sent, k.firsts.accepted + accepted}
	}
}

// accept records that the server accepted an attempt.
func (k *knowledge) accept(a Attempt, took time.Duration) {
	k.calm++
	tokens := &k.tokens
	switch {
	case a.Continues: // which may have waited for data or locks
		tokens = &k.kept
	case took > 0 && k.took == 0:
		k.took = took
	case took > 0:
		k.took += (took - k.took) / 8 // a mean that one slow reply moves little
	}
	if !a.First {
		*tokens++ // its own
	}
	*tokens = math.Min(*tokens+tokenOfSuccess, mostTokens)
}

// press records an attempt that was rejected or withheld.
func (k *knowledge) press(now time.Time) {
	if k.over(now) {
		k.began = now
	}
	k.pressed, k.calm = now, 0
}

// over reports whether the overload has ended: nothing was rejected or withheld for a second, and some attempts were accepted meanwhile.
func (k *knowledge) over(now time.Time) bool {
	return k.pressed.IsZero() || now.Sub(k.pressed) > second && k.calm >= some
}

// lasts reports whether the overload is older than that.
func (k *knowledge) lasts(now time.Time, age time.Duration) bool {
	return !k.over(now) && now.Sub(k.began) > age
}

// pay takes a token, and reports whether there was one.
func pay(tokens *float64) bool {
	if *tokens < 1 {
		return false
	}
	*tokens--
	return true
}

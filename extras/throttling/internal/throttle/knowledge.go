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
	at     time.Time  // when the weights had these values
	all    counts     // without those that continue something
	firsts counts     // of these, the first of their commands
	begun  float64    // the first ones, including those that were withheld
	wanted [3]float64 // all, including those that were withheld, of each class from the least critical

	tokens, kept float64       // for retries of who knows little, and of what continues something
	took         time.Duration // what was accepted, recently

	sent     time.Time // the last attempt
	accepted time.Time // the last of these
	rejected time.Time // the last of these
	pressed  time.Time // the last that was rejected or withheld
	began    time.Time // the overload
}

// begin begins to know a server, at its first rejection.
func (k *knowledge) begin(now time.Time) {
	k.at, k.sent, k.accepted, k.rejected = now, now, now, now
	k.all, k.firsts, k.begun, k.wanted = counts{}, counts{}, 0, [3]float64{}
	k.took, k.pressed = 0, time.Time{}
}

// decay lowers the weights to those of now. A clock may go back.
func (k *knowledge) decay(now time.Time) {
	elapsed := now.Sub(k.at)
	if elapsed <= 0 {
		return
	}
	weight := math.Exp(-float64(elapsed) / float64(memory))
	for _, w := range []*float64{
		&k.all.sent, &k.all.accepted, &k.firsts.sent, &k.firsts.accepted, &k.begun, &k.wanted[0], &k.wanted[1], &k.wanted[2],
	} {
		*w *= weight
	}
	k.at = now
}

// decide decides about an attempt, given a random number in [0, 1).
func (k *knowledge) decide(a Attempt, now time.Time, draw float64) Decision {
	p := k.probability(a, now)
	lasts := now.Sub(k.began) > brief && now.Sub(k.pressed) <= second
	switch {
	case !a.First && a.Left < k.took:
		return TooLate
	case k.sends(a, now, draw >= p):
		return Send
	case !a.First && !a.Continues && lasts && draw < p*p:
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
	case a.Routed:
		return a.First || k.sendable(k.all, now) == 1
	case k.begun < few:
		return a.First || pay(&k.tokens)
	default:
		return drawn || now.Sub(k.sent) >= second
	}
}

// probability returns the probability of withholding an attempt. Less critical ones are withheld first, and the more of them there
// are, the less follows from a rejection. First attempts are judged by first attempts: of a few commands that are always rejected, only
// the retries are too many.
func (k *knowledge) probability(a Attempt, now time.Time) float64 {
	judged := k.all
	if a.First {
		judged = k.firsts
	}
	var n, lower float64
	for class, wanted := range k.wanted {
		if n += wanted; class <= int(a.Class) {
			lower = n
		}
	}
	may := math.Pow(k.sendable(judged, now), exponent*(1-lower/math.Max(n, 1)))
	return (n*(1-may) - lower) / math.Max(k.wanted[a.Class+1], 1)
}

// sendable returns K times the share of the attempts that was accepted of those that were sent, but at most 1.
func (k *knowledge) sendable(c counts, now time.Time) float64 {
	if c.accepted >= c.sent {
		return 1
	}
	grown := math.Max(0, float64(now.Sub(k.rejected)-patience)/float64(second))
	return math.Min(1, slack*math.Exp(grown)*c.accepted/c.sent)
}

// count counts the end of an attempt, as 1 if it was sent or accepted. What continues something is not counted, as it is always sent.
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

// accept records that the server accepted an attempt. If that is the first for a long time, an outage has ended, and what the server
// rejected in it says nothing any more.
func (k *knowledge) accept(a Attempt, now time.Time, took time.Duration) {
	if now.Sub(k.accepted) > memory {
		k.all.sent, k.firsts.sent = k.all.accepted, k.firsts.accepted
	}
	k.accepted = now
	switch {
	case a.Continues:
		earn(&k.kept, a.First)
		return
	case took > 0 && k.took == 0:
		k.took = took
	case took > 0:
		k.took += (took - k.took) / 8
	}
	earn(&k.tokens, a.First)
}

// press records an attempt that was rejected or withheld. After a second without any, another overload begins.
func (k *knowledge) press(now time.Time) {
	if now.Sub(k.pressed) > second {
		k.began = now
	}
	k.pressed = now
}

// earn adds the tokens of an accepted attempt: a retry that is accepted returns its own.
func earn(tokens *float64, first bool) {
	if !first {
		*tokens++
	}
	*tokens = math.Min(*tokens+tokenOfSuccess, mostTokens)
}

// pay takes a token, and reports whether there was one.
func pay(tokens *float64) bool {
	if *tokens < 1 {
		return false
	}
	*tokens--
	return true
}

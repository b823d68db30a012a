package throttle

import (
	"math"
	"sync"
	"time"
)

// counts are weights of attempts that have ended, which decay.
type counts struct {
	wanted   float64 // including those that were held back
	sent     float64
	accepted float64
}

// knowledge is what a Throttle knows of the reads or of the writes of its server, since the first rejection.
type knowledge struct {
	mu       sync.Mutex
	at       time.Time  // when the weights had these values
	attempts counts     // without those that continue something
	firsts   counts     // of these, the first of their commands
	classes  [3]float64 // attempts wanted, from the least critical

	tokens, kept float64       // for retries of who knows little, and of what continues something
	took         time.Duration // what was accepted, recently

	sent     time.Time // the last attempt
	accepted time.Time // the last of these
	rejected time.Time // the last of these
	pressed  time.Time // the last that was rejected or held back
	began    time.Time // the overload
}

// begin begins to know a server, at its first rejection.
func (k *knowledge) begin(now time.Time) {
	k.at, k.sent, k.accepted, k.rejected = now, now, now, now
	k.attempts, k.firsts, k.classes = counts{}, counts{}, [3]float64{}
	k.tokens, k.kept, k.took = 0, mostTokens, 0
	k.pressed = time.Time{}
}

// decay lowers the weights to those of now. A clock may go back.
func (k *knowledge) decay(now time.Time) {
	elapsed := now.Sub(k.at)
	if elapsed <= 0 {
		return
	}
	weight := math.Exp(-float64(elapsed) / float64(memory))
	for _, c := range []*counts{&k.attempts, &k.firsts} {
		*c = counts{c.wanted * weight, c.sent * weight, c.accepted * weight}
	}
	for class := range k.classes {
		k.classes[class] *= weight
	}
	k.at = now
}

// decide decides about an attempt, given a random number in [0, 1).
func (k *knowledge) decide(a Attempt, now time.Time, draw float64) Decision {
	switch {
	case !a.First && a.Left < k.took:
		return TooLate
	case k.sends(a, now, draw):
		return Send
	case !a.First && !a.Continues && now.Sub(k.began) > brief && now.Sub(k.pressed) <= second:
		return GiveUp
	default:
		return HoldBack
	}
}

// sends reports whether an attempt is sent.
func (k *knowledge) sends(a Attempt, now time.Time, draw float64) bool {
	switch {
	case a.Continues:
		return a.First || pay(&k.kept)
	case a.Routed:
		return a.First || k.excess(k.attempts, now) == 0
	case k.firsts.wanted < few:
		return a.First || pay(&k.tokens)
	case now.Sub(k.sent) >= second:
		return true
	default:
		return draw >= k.probability(a, now)
	}
}

// probability returns the probability of holding back an attempt. What is too much is taken from the least critical first, and somewhat
// more of that to let others by. First attempts are judged by first attempts: of a few commands that are always rejected, only
// the retries are too many.
func (k *knowledge) probability(a Attempt, now time.Time) float64 {
	judged := k.attempts
	if a.First {
		judged = k.firsts
	}
	class := int(a.Class) + 1
	lower := sum(k.classes[:class])
	tooMany := k.attempts.wanted * k.excess(judged, now)
	return (tooMany - lower - math.Min(lower, (slack-1)*(k.attempts.wanted-tooMany))) / math.Max(k.classes[class], 1)
}

// excess returns which share of the attempts is too many: 1 - (K * accepted / wanted) ^ exponent, but at least 0.
func (k *knowledge) excess(c counts, now time.Time) float64 {
	if c.wanted == 0 {
		return 0
	}
	grown := math.Max(0, float64(now.Sub(k.rejected)-patience)/float64(second))
	sendable := slack * math.Exp(grown) * c.accepted / c.wanted
	if sendable >= 1 {
		return 0
	}
	return 1 - math.Pow(sendable, exponent)
}

// count counts the end of an attempt, as 1 if it was sent or accepted. What continues something is not counted, as it is always sent.
func (k *knowledge) count(a Attempt, sent, accepted float64) {
	if a.Continues {
		return
	}
	k.classes[a.Class+1]++
	k.attempts = counts{k.attempts.wanted + 1, k.attempts.sent + sent, k.attempts.accepted + accepted}
	if a.First {
		k.firsts = counts{k.firsts.wanted + 1, k.firsts.sent + sent, k.firsts.accepted + accepted}
	}
}

// accept records that the server accepted an attempt. If that is the first for a long time, an outage has ended, and what it rejected or
// had held back says nothing any more.
func (k *knowledge) accept(a Attempt, now time.Time, took time.Duration) {
	if now.Sub(k.accepted) > memory {
		for class := range k.classes {
			k.classes[class] *= k.attempts.accepted / math.Max(k.attempts.wanted, 1)
		}
		k.attempts.wanted, k.attempts.sent = k.attempts.accepted, k.attempts.accepted
		k.firsts.wanted = k.firsts.accepted
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

// press records an attempt that was rejected or held back. After a second without any, another overload begins.
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

func sum(weights []float64) (sum float64) {
	for _, w := range weights {
		sum += w
	}
	return sum
}

package retry

// Criticality is how much the application needs a command: of what is not sent, the least critical is first.
type Criticality int8

// The classes, from what is held back first to what is held back last. What is not marked is Normal.
const (
	Sheddable Criticality = iota - 1
	Normal
	Critical
)

// sheddableReserve is what Sheddable commands leave in a bucket for the others.
const sheddableReserve = tokenCapacity / 2

// keepsFrom reports whether a command of the class gets no token. Those of other classes get any, as the specification says.
func (b *TokenBucket) keepsFrom(c Criticality) bool {
	return b != nil && c == Sheddable && b.tenths.Load() <= sheddableReserve
}

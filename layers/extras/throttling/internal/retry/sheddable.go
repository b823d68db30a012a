package retry

// Failure says whether the command is sheddable.
//
//fork:extend commands leave half of the tokens to those of other classes
type Failure struct {
	Sheddable bool
}

// sheddableReserve is what sheddable commands leave in a bucket for the others, which get any token, as the specification says.
const sheddableReserve = tokenCapacity / 2

// keepsReserve reports whether only that is left.
func (b *TokenBucket) keepsReserve() bool { return b != nil && b.tenths.Load() <= sheddableReserve }

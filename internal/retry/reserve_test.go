package retry

import "testing"

// TestReserve is about the tokens that a command leaves to others.
func TestReserve(t *testing.T) {
	const reserve = 500
	for tenths, want := range map[int64]Reason{reserve * token: BucketEmpty, reserve*token + 1: Overloaded} {
		p := newPolicy(true, true)
		p.Bucket = new(TokenBucket)
		p.Bucket.tenths.Store(tenths)
		ex := p.Start(Read, Never)
		f := overloaded
		f.Reserve = reserve
		if got := ex.Failed(f).Reason; got != want {
			t.Errorf("with %d tenths: %q, want %q", tenths, got, want)
		}
		if ex := p.Start(Read, Never); !ex.Failed(overloaded).Retry {
			t.Errorf("with %d tenths, others are not retried", tenths)
		}
	}
}

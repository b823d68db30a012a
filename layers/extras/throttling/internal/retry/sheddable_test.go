package retry

import "testing"

// Half of the tokens are not for sheddable commands.
func TestSheddableReserve(t *testing.T) {
	for tenths, want := range map[int64]Reason{sheddableReserve: BucketEmpty, sheddableReserve + 1: Overloaded} {
		p := newPolicy(true, true)
		p.Bucket = new(TokenBucket)
		p.Bucket.tenths.Store(tenths)
		ex := p.Start(Read, Never)
		f := overloaded
		f.Sheddable = true
		if got := ex.Failed(f).Reason; got != want {
			t.Errorf("with %d tenths: %q, want %q", tenths, got, want)
		}
		if ex := p.Start(Read, Never); !ex.Failed(overloaded).Retry {
			t.Errorf("with %d tenths, others are not retried", tenths)
		}
	}
}

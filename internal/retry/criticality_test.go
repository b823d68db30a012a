package retry

import "testing"

func TestCriticality(t *testing.T) {
	var none Criticality
	if none != Normal || Sheddable >= Normal || Normal >= Critical {
		t.Error("what is not marked is Normal, between the others")
	}
	for c, want := range map[Criticality]string{Sheddable: "sheddable", Normal: "normal", Critical: "critical"} {
		if got := c.String(); got != want {
			t.Errorf("%d is %q, want %q", c, got, want)
		}
	}
}

// TestExecutionTokensOfClasses: what is sheddable leaves half of the tokens to the others, which know nothing of that.
func TestExecutionTokensOfClasses(t *testing.T) {
	const cost, half, full = 10, 5_000, 10_000 // in tenths
	for _, tt := range []struct {
		class  Criticality
		tokens int64
		want   Reason
	}{
		{class: Sheddable, tokens: full, want: Overloaded},
		{class: Sheddable, tokens: half + 1, want: Overloaded},
		{class: Sheddable, tokens: half, want: BucketEmpty},
		{class: Sheddable, tokens: cost, want: BucketEmpty},
		{class: Normal, tokens: half, want: Overloaded},
		{class: Normal, tokens: cost, want: Overloaded},
		{class: Normal, tokens: cost - 1, want: BucketEmpty},
		{class: Critical, tokens: cost, want: Overloaded},
		{class: Critical, tokens: cost - 1, want: BucketEmpty},
	} {
		paid := int64(0)
		if tt.want == Overloaded {
			paid = cost
		}
		tokenTest{class: tt.class, tokens: tt.tokens, outcomes: []*Failure{&overloaded}, last: tt.want,
			want: tt.tokens - paid}.run(t)
	}
}

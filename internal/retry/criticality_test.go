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
	const half = tokenCapacity / 2
	for _, tt := range []struct {
		class  Criticality
		tokens int64
		want   Reason
	}{
		{class: Sheddable, tokens: tokenCapacity, want: Overloaded},
		{class: Sheddable, tokens: half + 1, want: Overloaded},
		{class: Sheddable, tokens: half, want: BucketEmpty},
		{class: Sheddable, tokens: retryCost, want: BucketEmpty},
		{class: Normal, tokens: half, want: Overloaded},
		{class: Normal, tokens: retryCost, want: Overloaded},
		{class: Normal, tokens: retryCost - 1, want: BucketEmpty},
		{class: Critical, tokens: retryCost, want: Overloaded},
		{class: Critical, tokens: retryCost - 1, want: BucketEmpty},
	} {
		failure := overloaded
		failure.Criticality = tt.class
		cost := int64(0)
		if tt.want == Overloaded {
			cost = retryCost
		}
		tokenTest{tokens: tt.tokens, outcomes: []*Failure{&failure}, last: tt.want, want: tt.tokens - cost}.run(t)
	}
}

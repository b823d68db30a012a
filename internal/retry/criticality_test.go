package retry

import "testing"

func TestCriticality(t *testing.T) {
	var none Criticality
	if none != Normal || Sheddable >= Normal || Normal >= Critical {
		t.Error("what is not marked is Normal, between the others")
	}
}

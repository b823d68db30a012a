package main

import "testing"

func TestCountLost(t *testing.T) {
	books := []*book{
		{orders: []string{"a", "b"}, sold: 2},
		{orders: []string{"c"}, sold: 1},
	}
	tests := []struct {
		name    string
		present map[string]bool
		taken   int64
		want    int64
	}{
		{"all there", map[string]bool{"a": true, "b": true, "c": true}, 3, 0},
		{"an order lost", map[string]bool{"a": true, "c": true}, 3, 1},
		{"an update lost", map[string]bool{"a": true, "b": true, "c": true}, 2, 1},
		{"everything lost", nil, 0, 6},
		{"a failed update took place", map[string]bool{"a": true, "b": true, "c": true}, 4, 0},
	}
	for _, test := range tests {
		if got := countLost(books, test.present, test.taken); got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, got, test.want)
		}
	}
}

func TestWeightsAddUp(t *testing.T) {
	sum := 0
	for _, o := range operations {
		sum += o.weight
	}
	if sum != 100 {
		t.Errorf("the weights add up to %d, want 100", sum)
	}
}

package main

// found are seeds of plans that have found something: each comparison of several plans runs them again.
var found = []struct {
	seed uint64
	what string
}{
	{35, "an interrupted bulk write reports no models"},
}

package trial

import "testing"

// TestMasked is about numbers of connections, which are hidden, and those of documents, which are not.
func TestMasked(t *testing.T) {
	const text = "returns &{InsertedIDs:[10]}, no error"
	if got := masked(text); got != text {
		t.Error(got)
	}
	if masked("connection(127.0.0.1:27017[-12]) x") != masked("connection(127.0.0.1:27017[7]) x") {
		t.Error("numbers of connections")
	}
}

package driver

import (
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
)

// TestUnion is about the labels of several batches, of which a server may send any number: each is there once, and soon.
func TestUnion(t *testing.T) {
	assert.Equal(t, []string{"a", "b", "c"}, union(union([]string{"a"}, []string{"b"}), []string{"a", "c", "b"}))
	var many []string
	for i := 0; i < 400_000; i++ {
		many = append(many, fmt.Sprintf("a label of a server that has very many of them, %d", i))
	}
	executed := Outcome{Written: WriteCommandError{Labels: many}}
	all := allWritten([]Outcome{executed, executed, executed})
	assert.Equal(t, len(many), len(all.Labels)) // to compare each with each takes longer than tests may
}

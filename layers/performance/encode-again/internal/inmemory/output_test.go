package inmemory

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
)

// TestOutputOfLargeDocuments is about who has the memory of a document: a writer is used again, unless that memory is large.
func TestOutputOfLargeDocuments(t *testing.T) {
	for _, tt := range []struct {
		size     int
		borrowed bool
		copied   bool
		kept     bool // the writer
	}{
		{size: maxKept, copied: true, kept: true},
		{size: maxKept + 1},
		{size: maxKept, borrowed: true, copied: true, kept: true},
		{size: maxKept + 1, borrowed: true, copied: true},
	} {
		document := make([]byte, tt.size)
		o := Output{Writer: "writer", Borrowed: tt.borrowed}
		n, err := o.Write(document)
		assert.NoError(t, err)
		assert.Equal(t, []int{tt.size, tt.size}, []int{n, len(o.Bytes)})
		document[0] = 1
		assert.Equal(t, tt.copied, o.Bytes[0] == 0, "%+v", tt)
		assert.Equal(t, tt.kept, o.Writer != nil, "%+v", tt)

		n, err = o.Write([]byte("more"))
		assert.NoError(t, err)
		assert.Equal(t, []int{4, tt.size + 4}, []int{n, len(o.Bytes)})
	}
}

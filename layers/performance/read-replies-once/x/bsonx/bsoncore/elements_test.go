package bsoncore

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
)

// TestElementsOfMalformedDocuments compares with reading one element after the other, whatever byte is changed, or missing at the end.
func TestElementsOfMalformedDocuments(t *testing.T) {
	t.Parallel()
	doc := BuildDocument(nil, AppendInt32Element(AppendStringElement(AppendDoubleElement(nil, "a", 1), "b", "text"), "c", 3))
	check := func(doc Document) {
		var want []Element
		var failed bool
		length, rest, ok := ReadLength(doc)
		failed = !ok
		for left := int(length) - 4; !failed && left > 1; {
			next, after, ok := ReadElement(rest)
			if failed = !ok || next.Validate() != nil; failed {
				break
			}
			want, rest, left = append(want, next), after, left-len(next)
		}
		got, err := doc.Elements()
		assert.Equal(t, want, got, "%x", []byte(doc))
		assert.Equal(t, failed, err != nil, "%x: %v", []byte(doc), err)
		assert.True(t, err != nil || len(got) == cap(got))
	}
	check(doc)
	for i := range doc {
		check(doc[:i])
		for bit := 0; bit < 8; bit++ {
			changed := append(Document(nil), doc...)
			changed[i] ^= 1 << bit
			check(changed)
		}
	}
	check(BuildDocument(nil, nil))
}

//fork:base <v2.9.3

package bsoncore

// tooShort reports whether what begins with b says that it is shorter than an empty document.
func tooShort(b []byte) bool {
	length, _, ok := ReadLength(b)
	return ok && length < minDocumentLength
}

// valueLength adds what the length of a value does not count. Of a length near the largest int32 the sum is negative, which no
// comparison with the bytes at hand finds too large.
//
//fork:wrap a reply with such a length let the reader panic
func valueLength(src []byte, t Type) (int32, bool) {
	length, ok := upstreamValueLength(src, t)
	return length, ok && length >= 0
}

// Validate validates the document and its elements, and those of embedded documents. The error says what is wrong with the
// first that is not valid.
//
//fork:wrap a document of length 0 let it panic
func (d Document) Validate() error {
	if tooShort(d) {
		return ErrInvalidLength
	}
	return d.upstreamValidate()
}

// Validate validates the array and its values. The error says what is wrong with the first that is not valid.
//
//fork:wrap an array of length 0 let it panic
func (a Array) Validate() error {
	if tooShort(a) {
		return ErrInvalidLength
	}
	return a.upstreamValidate()
}

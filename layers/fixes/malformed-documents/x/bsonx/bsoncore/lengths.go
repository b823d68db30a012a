//fork:base <v2.9.3

package bsoncore

// tooShort reports whether the length at the beginning of b is less than that of an empty document.
func tooShort(b []byte) bool {
	length, _, ok := ReadLength(b)
	return ok && length < minDocumentLength
}

// valueLength adds the bytes that a value's length does not count. For a length near the largest int32 the sum is negative, and
// passes any comparison with the available bytes.
//
//fork:wrap a reply with such a length made the reader panic
func valueLength(src []byte, t Type) (int32, bool) {
	retLength, retOk := upstreamValueLength(src, t)
	return retLength, retOk && retLength >= 0
}

// Embedded documents are validated as well. The error describes the first element that is invalid.
//
//fork:wrap a document of length 0 made it panic
func (d Document) Validate() error {
	if tooShort(d) {
		return ErrInvalidLength
	}
	return d.upstreamValidate()
}

// The error describes the first value that is invalid.
//
//fork:wrap an array of length 0 made it panic
func (a Array) Validate() error {
	if tooShort(a) {
		return ErrInvalidLength
	}
	return a.upstreamValidate()
}

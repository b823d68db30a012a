//fork:base <v2.6.1

package driver

// dst is the message so far, the size of which counts. The bytes of a document sequence besides its identifier and documents are its kind,
// its length, and the zero after the identifier.
//
//fork:wrap the command around the documents was not counted, so a batch near the limit was refused as a whole
func (b *Batches) AppendBatchSequence(dst []byte, maxCount, totalSize int) (int, []byte, error) {
	const overhead = 1 + 4 + 1
	return b.upstreamAppendBatchSequence(dst, maxCount, totalSize-len(dst)-overhead-len(b.Identifier))
}

// dst is the message so far, the size of which counts. An array of one document takes six bytes before it, for its type, its length and
// the zero after the identifier; three for the document's type and its key, "0" with a zero; and the zero at its end.
//
//fork:wrap the command around the documents was not counted, so a batch near the limit was refused as a whole
func (b *Batches) AppendBatchArray(dst []byte, maxCount, totalSize int) (int, []byte, error) {
	const overhead = 1 + 4 + 1 + 3 + 1
	return b.upstreamAppendBatchArray(dst, maxCount, totalSize-len(dst)-overhead-len(b.Identifier))
}

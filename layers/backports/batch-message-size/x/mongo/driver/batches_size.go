//fork:base <v2.6.1

package driver

// The limit is less by what is not counted below: dst, which is the message so far, and what a document sequence has besides its
// documents. That is its kind, its length, its identifier, and the zero after that.
//
//fork:wrap the command around the documents was not counted, so a batch near the limit was refused as a whole
func (b *Batches) AppendBatchSequence(dst []byte, maxCount, totalSize int) (int, []byte, error) {
	const overhead = 1 + 4 + 1
	return b.upstreamAppendBatchSequence(dst, maxCount, totalSize-len(dst)-overhead-len(b.Identifier))
}

// Only an array of one document, which is encrypted alone because it is large, may reach the limit of a message. It has six bytes for its
// type, its length and the zero after the identifier; three for the document's type and its key, "0" with a zero; and the zero at its end.
//
//fork:wrap the command around the documents was not counted, so a batch near the limit was refused as a whole
func (b *Batches) AppendBatchArray(dst []byte, maxCount, totalSize int) (int, []byte, error) {
	const overhead = 1 + 4 + 1 + 3 + 1
	return b.upstreamAppendBatchArray(dst, maxCount, totalSize-len(dst)-overhead-len(b.Identifier))
}

//fork:base <v2.6.1

package driver

// The bytes of a document sequence besides its identifier and documents: its kind, its length, and the zero after the identifier.
// An array of one document takes as many before it, for its type, its length and the zero; three for the document's type and its
// key, "0" with a zero; and the zero at its end.
const (
	sequenceOverhead = 1 + 4 + 1
	arrayOverhead    = sequenceOverhead + 3 + 1
)

// dst is the message so far, the size of which counts.
//
//fork:wrap the command around the documents was not counted, so a batch near the limit was refused as a whole
func (b *Batches) AppendBatchSequence(dst []byte, maxCount, totalSize int) (int, []byte, error) {
	return b.upstreamAppendBatchSequence(dst, maxCount, totalSize-len(dst)-sequenceOverhead-len(b.Identifier))
}

// dst is the message so far, the size of which counts.
//
//fork:wrap the command around the documents was not counted, so a batch near the limit was refused as a whole
func (b *Batches) AppendBatchArray(dst []byte, maxCount, totalSize int) (int, []byte, error) {
	return b.upstreamAppendBatchArray(dst, maxCount, totalSize-len(dst)-arrayOverhead-len(b.Identifier))
}

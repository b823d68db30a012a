package bson

import "io"

// readBytes reads bytes whose number a document states. Of a stream, memory is allocated as bytes arrive, beyond the first mebibyte.
//
//fork:wrap the length of a string or of binary data in a stream, such as a file's document in GridFS, allocated up to two gigabytes
func readBytes(src byteSrc, n int) ([]byte, error) {
	const trusted = 1 << 20                                            // as for a whole document, see newBufferFromReader of bsoncore
	if _, stream := src.(*streamingByteSrc); n <= trusted || !stream { // those in memory are not copied
		return upstreamReadBytes(src, n)
	}
	data := make([]byte, 0, trusted)
	for len(data) < n {
		size := 2 * len(data)
		if size < trusted {
			size = trusted
		}
		if size > n {
			size = n
		}
		grown := make([]byte, size)
		switch _, err := src.readExact(grown[copy(grown, data):]); {
		case err == io.EOF && len(data) > 0: // as one read of all n bytes would have it
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
		data = grown
	}
	return data, nil
}

package bsoncore

import (
	"encoding/binary"
	"io"
)

const (
	// minDocumentLength is that of an empty document or array: its length and the zero at its end.
	minDocumentLength = 5
	// maxTrusted is the number of bytes allocated on the strength of a stated length. Beyond that, memory is allocated as bytes
	// arrive, up to maxGrowth times as much: then a server's largest document, of 16 MiB, is copied only once, after a sixteenth of it.
	maxTrusted = 1 << 20
	maxGrowth  = 16
)

// newBufferFromReader reads a document or an array, and checks only its length and end.
//
//fork:replace four bytes allocated two gigabytes, and a length from 0 to 3 made it panic
func newBufferFromReader(r io.Reader) ([]byte, error) {
	if r == nil {
		return nil, ErrNilReader
	}
	var prefix [4]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return nil, err
	}
	length := int(int32(binary.LittleEndian.Uint32(prefix[:])))
	if length < minDocumentLength {
		return nil, ErrInvalidLength
	}
	size := length
	if size > maxTrusted {
		size = maxTrusted
	}
	doc := make([]byte, size)
	copy(doc, prefix[:])
	if _, err := io.ReadFull(r, doc[len(prefix):]); err != nil {
		return nil, err
	}
	for len(doc) < length {
		var err error
		if doc, err = readMore(r, doc, length); err != nil {
			return nil, err
		}
	}
	if doc[length-1] != 0 {
		return nil, ErrMissingNull
	}
	return doc, nil
}

// readMore reads more bytes, up to the length.
func readMore(r io.Reader, doc []byte, length int) ([]byte, error) {
	size := maxGrowth * len(doc)
	if size > length {
		size = length
	}
	more := make([]byte, size)
	_, err := io.ReadFull(r, more[copy(more, doc):])
	if err == io.EOF { // in the midst of the document
		err = io.ErrUnexpectedEOF
	}
	return more, err
}

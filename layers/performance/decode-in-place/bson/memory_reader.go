package bson

import (
	"bufio"
	"io"

	"go.mongodb.org/mongo-driver/v2/internal/inmemory"
)

// A Document of package inmemory is read in place, without a buffer. What it is decoded into does not share its memory.
//
//fork:wrap each document that package mongo decoded, though in memory, took a buffer of 4 KB
func NewDocumentReader(r io.Reader) ValueReader {
	if inMemory := memoryReaderOf(r); inMemory != nil {
		return inMemory
	}
	return upstreamNewDocumentReader(r)
}

// memoryReader is a valueReader with its source and its stack in one allocation.
type memoryReader struct {
	valueReader
	source memorySource
	frames [5]vrState // as many as the stack of other readers has at first; it can grow
}

// memoryReaderOf returns the reader of a Document in memory, the same one for each that it becomes, or nil for any other source. Its type
// is that of all other readers.
func memoryReaderOf(r io.Reader) *valueReader {
	d, ok := r.(*inmemory.Document)
	if !ok {
		return nil
	}
	m, ok := d.Reader.(*memoryReader)
	if !ok {
		m = &memoryReader{}
		m.stack = m.frames[:]
		d.Reader = m
	}
	m.source = memorySource{bufferedByteSrc{buf: d.Bytes}}
	m.src, m.frame = &m.source, 0
	m.stack[0] = vrState{mode: mTopLevel}
	return &m.valueReader
}

// memorySource does for bytes in memory what streamingByteSrc does for an io.Reader, with the same errors, but without its limit of 4096
// bytes for a key and a regular expression.
type memorySource struct{ bufferedByteSrc }

// readBytes returns the next n bytes. Those of a memorySource are not copied.
//
//fork:wrap a stream's bytes have to be copied before the next are read, those in memory do not
func readBytes(src byteSrc, n int) ([]byte, error) {
	m, ok := src.(*memorySource)
	if !ok {
		return upstreamReadBytes(src, n)
	}
	read, err := m.peek(n)
	_, _ = m.discard(n) // also beside an error: a stream would have been read
	if err == nil {
		return read, nil
	}
	if len(read) > 0 { // as io.ReadFull does
		err = io.ErrUnexpectedEOF
	}
	return nil, err
}

// discard implements the byteSrc interface. A malformed length can be negative.
func (m *memorySource) discard(n int) (int, error) {
	if n < 0 {
		return 0, bufio.ErrNegativeCount
	}
	return m.bufferedByteSrc.discard(n)
}

// streamable implements the byteSrc interface: what follows a document in memory is read as in a stream.
func (m *memorySource) streamable() bool { return true }

// reset implements the byteSrc interface. It counts anew, and does not go back.
func (m *memorySource) reset() {
	m.buf, m.offset = m.buf[m.offset:], 0
}

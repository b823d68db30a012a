package bson

import (
	"io"

	"go.mongodb.org/mongo-driver/v2/internal/inmemory"
)

// An Output of package inmemory has one writer for all of its documents.
//
//fork:wrap the writer and its buffer, which grew from nothing, were made for each document that package mongo encoded
func NewDocumentWriter(w io.Writer) ValueWriter {
	if o, ok := w.(*inmemory.Output); ok {
		return memoryWriterOf(o)
	}
	return upstreamNewDocumentWriter(w)
}

// memoryWriterOf returns the writer of an Output.
func memoryWriterOf(o *inmemory.Output) ValueWriter {
	vw, ok := o.Writer.(*valueWriter)
	if !ok {
		vw = newDocumentWriter(o)
		o.Writer = vw
	}
	vw.reset(vw.buf[:0])
	vw.w = o // which reset has removed
	return vw
}

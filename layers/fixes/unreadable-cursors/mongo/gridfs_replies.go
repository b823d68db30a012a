package mongo

import (
	"context"
	"fmt"
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Anybody who may write to the bucket can store what GridFS reads, with types and sizes that no driver stores.

// newGridFSDownloadStream returns a stream for the chunks that the cursor finds. Without a cursor the file is empty.
//
//fork:replace a negative chunk size made the client panic, and a large one took its memory before there was any data
func newGridFSDownloadStream(
	ctx context.Context,
	cancel context.CancelFunc,
	chunks *Cursor,
	chunkSize int32,
	file *GridFSFile,
) *GridFSDownloadStream {
	return &GridFSDownloadStream{
		file: file, fileLen: file.Length, chunkSize: chunkSize, numChunks: countChunks(file.Length, chunkSize),
		cursor: chunks, done: chunks == nil, ctx: ctx, cancel: cancel,
	}
}

// countChunks returns the number of a file's chunks, or an impossible number if the length or the chunk size cannot be right.
func countChunks(length int64, chunkSize int32) int32 {
	const none = -1
	if length < 0 || chunkSize <= 0 {
		return none
	}
	count := length / int64(chunkSize)
	if length%int64(chunkSize) > 0 {
		count++
	}
	if count > math.MaxInt32 { // the numbers of chunks are of type int32
		return none
	}
	return int32(count)
}

// fillBuffer reads the next chunk.
//
//fork:replace a chunk whose number or data has another type made the client panic; an error was followed by the end of the file
func (ds *GridFSDownloadStream) fillBuffer(ctx context.Context) error {
	if ds.failed != nil {
		return ds.failed
	}
	err := ds.readChunk(ctx)
	if err != nil && err != errNoMoreChunks && ds.cursor.err == nil { // after one of its own, the cursor goes on, or repeats it
		ds.failed = err
	}
	return err
}

// GridFSDownloadStream keeps the error that has ended it, unless it is its cursor's, which goes on after it or repeats it.
//
//fork:extend an error was followed by the end of the file
type GridFSDownloadStream struct {
	failed error
}

// readChunk reads the next chunk.
func (ds *GridFSDownloadStream) readChunk(ctx context.Context) error {
	if !ds.cursor.Next(ctx) {
		return ds.endOfChunks()
	}
	if ds.numChunks < 0 { // asked only now, because an error of the cursor comes first
		return fmt.Errorf("%w: the file has a length of %d and chunks of %d bytes", ErrWrongSize, ds.fileLen, ds.chunkSize)
	}
	if err := ds.checkChunkNumber(); err != nil {
		return err
	}
	ds.expectedChunk++

	value, err := ds.cursor.Current.LookupErr("data")
	if err != nil {
		return err
	}
	_, data, ok := value.BinaryOK()
	if !ok {
		return fmt.Errorf("chunk %d of the file has data of type %v, want %v", ds.expectedChunk-1, value.Type, bson.TypeBinary)
	}
	if int64(len(data)) != ds.sizeOfChunk(ds.expectedChunk) {
		return ErrWrongSize
	}
	ds.buffer = append(ds.buffer[:0], data...) // grows to what is there, not to what the file's document states
	ds.bufferStart, ds.bufferEnd = 0, len(data)
	return nil
}

// checkChunkNumber checks that the chunk is the next one.
func (ds *GridFSDownloadStream) checkChunkNumber() error {
	value, err := ds.cursor.Current.LookupErr("n")
	if err != nil {
		return err
	}
	var number int64
	switch value.Type {
	case bson.TypeInt32:
		number = int64(value.Int32())
	case bson.TypeInt64:
		number = value.Int64()
	default:
		return fmt.Errorf("a chunk of the file has a number of type %v, want %v", value.Type, bson.TypeInt32)
	}
	if number != int64(ds.expectedChunk) {
		return ErrMissingChunk
	}
	return nil
}

// sizeOfChunk returns the number of bytes of the n-th chunk, from 1. Only the last may be shorter than the others.
func (ds *GridFSDownloadStream) sizeOfChunk(n int32) int64 {
	if n != ds.numChunks {
		return int64(ds.chunkSize)
	}
	return ds.fileLen - int64(ds.chunkSize)*int64(n-1)
}

// endOfChunks returns the reason why there is no further chunk.
func (ds *GridFSDownloadStream) endOfChunks() error {
	if err := ds.cursor.Err(); err != nil {
		return err
	}
	if ds.expectedChunk != ds.numChunks {
		return ErrMissingChunk
	}
	ds.done = true
	return errNoMoreChunks
}

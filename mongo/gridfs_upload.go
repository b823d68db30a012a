package mongo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/csot"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// After an error an upload stream is as it was before, but for what the server has acknowledged: Write, with the bytes that it has not
// taken, and Close can be called again, and go on with the upload. Otherwise call Abort. A file is there only once all of its chunks are.
//
//fork:extend an upload that met an error counted chunks that were not stored, and published a broken file
type GridFSUploadStream struct {
	// unsure are the _id values of chunks of the buffer that may have been stored.
	unsure []bson.ObjectID
	// file is the file's document once it was sent, and published whether it may have been stored.
	file      bson.D
	published bool
}

// If Write returns an error, it has taken the first n bytes of p, to which the stream adds if Write is called again with the rest.
//
//fork:replace a failed Write had kept the bytes that it said it had not written
func (us *GridFSUploadStream) Write(p []byte) (int, error) {
	if us.closed {
		return 0, ErrStreamClosed
	}
	taken, chunks := 0, us.chunkIndex
	for taken < len(p) {
		n := copy(us.buffer[us.bufferIndex:], p[taken:])
		us.bufferIndex += n
		taken += n
		if us.bufferIndex < len(us.buffer) {
			continue
		}
		if err := us.uploadChunks(us.ctx, false); err != nil {
			if us.bufferIndex == len(us.buffer) { // nothing was stored
				us.bufferIndex -= n
				taken -= n
			}
			return taken, us.ofLaterCommand(err, chunks)
		}
	}
	return taken, nil
}

// Close writes the rest of the file's chunks, and then the file's document. If it returns an error, it can be called again, or Abort.
//
//fork:replace after an error it published a broken file when it was called again
func (us *GridFSUploadStream) Close() error {
	if us.closed {
		return ErrStreamClosed
	}
	chunks := us.chunkIndex
	if us.bufferIndex > 0 {
		if err := us.uploadChunks(us.ctx, true); err != nil {
			return err
		}
	}
	if err := us.createFilesCollDoc(us.ctx); err != nil {
		return us.ofLaterCommand(err, chunks)
	}
	us.end()
	return nil
}

// ofLaterCommand returns the error of a call that began with so many chunks.
func (us *GridFSUploadStream) ofLaterCommand(err error, chunks int) error {
	if us.chunkIndex == chunks {
		return err
	}
	return ofLaterCommand(err)
}

// end ends the stream.
func (us *GridFSUploadStream) end() {
	us.closed = true
	if us.cancel != nil {
		us.cancel()
	}
}

// uploadChunks stores the whole chunks of the buffer and, if uploadPartial is set, also the rest. Those that are stored leave the buffer,
// also beside an error.
//
//fork:replace chunks counted before they were stored
func (us *GridFSUploadStream) uploadChunks(ctx context.Context, uploadPartial bool) error {
	if us.chunkSize <= 0 {
		return fmt.Errorf("%w: chunks of %d bytes", ErrWrongSize, us.chunkSize)
	}
	removes := len(us.unsure) > 0
	if err := us.removeUnsure(ctx); err != nil {
		return err
	}
	docs, ids := us.chunksOfBuffer(uploadPartial)
	_, err := us.chunksColl.InsertMany(ctx, docs)
	outcome := BulkOutcome(err, len(docs))
	us.stored(len(outcome.Done))
	for _, index := range outcome.Unknown {
		us.unsure = append(us.unsure, ids[index])
	}
	if removes {
		return ofLaterCommand(err)
	}
	return err
}

// chunksOfBuffer returns documents for the chunks of the buffer, and their _id values.
func (us *GridFSUploadStream) chunksOfBuffer(uploadPartial bool) (docs []any, ids []bson.ObjectID) {
	size := int(us.chunkSize)
	for begin := 0; begin < us.bufferIndex; begin += size {
		end := begin + size
		if end > us.bufferIndex {
			if !uploadPartial {
				break
			}
			end = us.bufferIndex
		}
		id := bson.NewObjectID()
		ids = append(ids, id)
		docs = append(docs, bson.D{
			{Key: "_id", Value: id},
			{Key: "files_id", Value: us.FileID},
			{Key: "n", Value: int32(us.chunkIndex + len(docs))},
			{Key: "data", Value: bson.Binary{Data: us.buffer[begin:end]}},
		})
	}
	return docs, ids
}

// stored counts so many chunks of the buffer, and removes them from it.
func (us *GridFSUploadStream) stored(chunks int) {
	size := chunks * int(us.chunkSize)
	if size > us.bufferIndex {
		size = us.bufferIndex
	}
	us.chunkIndex += chunks
	us.fileLen += int64(size)
	us.bufferIndex = copy(us.buffer, us.buffer[size:us.bufferIndex])
}

// removeUnsure removes the chunks that may have been stored. It knows them by their _id, so that it removes no other upload's.
func (us *GridFSUploadStream) removeUnsure(ctx context.Context) error {
	if len(us.unsure) == 0 {
		return nil
	}
	unsure := bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: us.unsure}}}}
	if _, err := us.chunksColl.DeleteMany(ctx, unsure); err != nil {
		return err
	}
	us.unsure = nil
	return nil
}

// createFilesCollDoc stores the file's document. That it is there already is no error if an earlier attempt may have stored it.
//
//fork:replace an attempt whose reply was lost made the next one fail
func (us *GridFSUploadStream) createFilesCollDoc(ctx context.Context) error {
	if us.file == nil || !us.published {
		us.file = bson.D{
			{Key: "_id", Value: us.FileID},
			{Key: "length", Value: us.fileLen},
			{Key: "chunkSize", Value: us.chunkSize},
			{Key: "uploadDate", Value: bson.NewDateTimeFromTime(time.Now())},
			{Key: "filename", Value: us.filename},
		}
		if us.metadata != nil {
			us.file = append(us.file, bson.E{Key: "metadata", Value: us.metadata})
		}
	}
	_, err := us.filesColl.InsertOne(ctx, us.file)
	if us.published && us.chunkIndex > 0 && IsDuplicateKeyError(err) {
		return nil
	}
	us.published = us.published || err != nil && mayBeInserted(err)
	return err
}

// mayBeInserted reports whether an InsertOne that returned the error may have inserted the document.
func mayBeInserted(err error) bool {
	var failed WriteException
	if errors.As(err, &failed) {
		return len(failed.WriteErrors) == 0
	}
	var command CommandError
	return errors.As(err, &command) && !command.HasErrorLabel(driver.NoWritesPerformed) && !backpressure.IsRetryableOverload(command)
}

// Abort ends the upload and deletes the chunks that it has written, and the file's document if a failed Close may have written it. It returns
// ErrStreamClosed if the stream is closed. If it returns another error, it can be called again.
//
//fork:replace it deleted the chunks of a file with the same ID that was there before
func (us *GridFSUploadStream) Abort() error {
	if us.closed {
		return ErrStreamClosed
	}
	if us.published {
		mine := append(fileFilter("_id", us.FileID), us.file[3]) // and the upload date
		if _, err := us.filesColl.DeleteOne(us.ctx, mine); err != nil {
			return err
		}
		us.published = false
	}
	if err := us.removeUnsure(us.ctx); err != nil {
		return err
	}
	if us.chunkIndex > 0 { // so that the first chunk is this upload's, and all others are
		if _, err := us.chunksColl.DeleteMany(us.ctx, fileFilter("files_id", us.FileID)); err != nil {
			return err
		}
	}
	us.end()
	return nil
}

// UploadFromStreamWithID uploads a file given a source stream, with the ID that is given. If it returns an error, the file's chunks are
// deleted, so that it can be called again, unless the file may be there, as after a write concern error, or the error says that they could
// not be deleted. In these cases Delete deletes them.
//
// The context, or the client's Timeout if that has no deadline, limits the whole upload. Uploads of one bucket cannot run at the same time.
//
//fork:replace the chunks of a failed upload stayed, so that the next one with the same ID failed; a reader that returned no bytes ended the file
func (b *GridFSBucket) UploadFromStreamWithID(
	ctx context.Context, fileID any, filename string, source io.Reader, opts ...options.Lister[options.GridFSUploadOptions],
) error {
	ctx, cancel := csot.WithTimeout(ctx, b.db.client.timeout)
	defer cancel()

	us, err := b.OpenUploadStreamWithID(ctx, fileID, filename, opts...)
	if err != nil {
		return err
	}
	defer us.cancel()

	if _, err = io.CopyBuffer(us, struct{ io.Reader }{source}, b.readBuf); err == nil {
		err = us.Close()
	}
	err = us.ofLaterCommand(err, 0)
	if err == nil || us.published {
		return err
	}
	if abortErr := us.Abort(); abortErr != nil {
		return fmt.Errorf("%w (the chunks of the file could not be deleted: %v)", err, abortErr)
	}
	return err
}

// Delete deletes the file's document, and then its chunks. If it returns an error, what comes after the command that failed was not done,
// and it can be called again. If there is no such file, it deletes chunks that an earlier Delete has left, and returns ErrFileNotFound.
//
//fork:replace it deleted the chunks although the file's document was not deleted
func (b *GridFSBucket) Delete(ctx context.Context, fileID any) error {
	ctx, cancel := csot.WithTimeout(ctx, b.db.client.timeout)
	defer cancel()

	res, err := b.filesColl.DeleteOne(ctx, fileFilter("_id", fileID))
	if err != nil {
		return err
	}
	err = b.deleteChunks(ctx, fileID)
	switch {
	case res.DeletedCount > 0:
		return ofLaterCommand(err)
	case err == nil:
		return ErrFileNotFound
	default:
		return err
	}
}

// If Drop returns an error, what comes after the command that failed was not dropped, and it can be called again.
//
//fork:replace an error said that nothing was dropped although the files were
func (b *GridFSBucket) Drop(ctx context.Context) error {
	ctx, cancel := csot.WithTimeout(ctx, b.db.client.timeout)
	defer cancel()

	if err := b.filesColl.Drop(ctx); err != nil {
		return err
	}
	return ofLaterCommand(b.chunksColl.Drop(ctx))
}

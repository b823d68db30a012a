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

// After an error, the stream keeps the bytes that the server has not acknowledged. To go on with the upload, call what failed again: Write
// with the bytes that it has not taken, or Close. Abort gives it up. A file is there only once all of its chunks are, and Close publishes
// none after a Write that failed, so that a deferred Close leaves no file that was cut short. It does not know of other errors, such as
// those of the source: call Abort after them.
//
//fork:extend an upload that met an error counted chunks that were not stored, and published a broken file
type GridFSUploadStream struct {
	// unsure are the _id values of chunks of the buffer that may have been stored.
	unsure []bson.ObjectID
	// uploadDate is that of the file's document, once it was sent, and published whether it may have been stored.
	uploadDate bson.DateTime
	published  bool
	// cut is the error of a Write, and missing how many of its bytes the file lacks.
	cut     error
	missing int
}

// Write adds p to the file. If it returns an error, it has taken the first n bytes of p, to which the stream adds if Write is called again
// with the rest, even if that is empty; until then, Close returns the error. Once a Close that failed has stored the last chunk, or has
// sent the file's document, the file can no longer grow: Write returns an error.
//
//fork:replace a failed Write had kept the bytes that it said it had not written
func (us *GridFSUploadStream) Write(p []byte) (int, error) {
	if us.closed {
		return 0, ErrStreamClosed
	}
	n, err := us.add(p)
	if us.missing < len(p) { // otherwise it is still what an earlier Write has not taken
		us.missing = len(p)
	}
	if us.missing -= n; err != nil || us.missing == 0 {
		us.cut = err
	}
	return n, err
}

// add adds bytes to the file, and returns how many it has taken.
func (us *GridFSUploadStream) add(p []byte) (int, error) {
	if len(p) > 0 && us.complete() {
		return 0, errors.New("a failed Close has stored the last chunk, so the file cannot grow: call Abort, and upload it again")
	}
	taken, before := 0, us.chunkIndex
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
			return taken, us.ofLaterCommand(err, before)
		}
	}
	return taken, nil
}

// Close writes the rest of the file's chunks, and then the file's document. If it returns an error, it can be called again, or Abort. After
// a Write that failed, it stores nothing and returns the error of that, until Write has taken the rest or Abort is called.
//
//fork:replace after an error it published a broken file
func (us *GridFSUploadStream) Close() error {
	switch {
	case us.closed:
		return ErrStreamClosed
	case us.cut != nil:
		return us.cut
	}
	before := us.chunkIndex // if this call has stored more, its error must not say that nothing was executed
	if us.bufferIndex > 0 {
		if err := us.uploadChunks(us.ctx, true); err != nil {
			return err
		}
	}
	if err := us.createFilesCollDoc(us.ctx); err != nil {
		return us.ofLaterCommand(err, before)
	}
	us.end()
	return nil
}

// complete reports whether the file can no longer grow: its last chunk is stored, which may be shorter than others, or its document was
// sent.
func (us *GridFSUploadStream) complete() bool {
	return us.uploadDate != 0 || us.chunkSize > 0 && us.fileLen%int64(us.chunkSize) != 0
}

// ofLaterCommand returns the error of a call before which so many chunks were stored.
func (us *GridFSUploadStream) ofLaterCommand(err error, before int) error {
	if us.chunkIndex == before {
		return err
	}
	return ofLaterCommand(err)
}

// end ends the stream.
func (us *GridFSUploadStream) end() {
	us.closed = true
	if us.cancel != nil { // of the context for the client's Timeout
		us.cancel()
	}
}

// uploadChunks stores the whole chunks of the buffer and, if uploadPartial is set, also the rest. Those that are stored leave the buffer,
// also beside an error.
//
//fork:replace chunks counted before they were stored
func (us *GridFSUploadStream) uploadChunks(ctx context.Context, uploadPartial bool) error {
	if us.chunkSize <= 0 { // then chunksOfBuffer would not end
		return fmt.Errorf("%w: chunks of %d bytes", ErrWrongSize, us.chunkSize)
	}
	removes := len(us.unsure) > 0                // then an error must not say that nothing was executed
	if err := us.removeUnsure(ctx); err != nil { // the chunks that follow have the same numbers
		return err
	}
	docs, ids := us.chunksOfBuffer(uploadPartial)
	_, err := us.chunksColl.InsertMany(ctx, docs)
	outcome := BulkOutcome(err, len(docs))
	us.stored(len(outcome.Done)) // the first ones: an InsertMany is ordered
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
		size = us.bufferIndex // the last chunk may be shorter
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

// createFilesCollDoc stores the file's document. That it is there already is no error if an earlier attempt may have stored it, and chunks
// are stored, which the index does not allow beside those of another file with this ID. Of an empty file nobody knows whose it is.
//
//fork:replace an attempt whose reply was lost made the next one fail
func (us *GridFSUploadStream) createFilesCollDoc(ctx context.Context) error {
	if !us.published { // otherwise it must stay what it may be there with
		us.uploadDate = bson.NewDateTimeFromTime(time.Now())
	}
	_, err := us.filesColl.insert(ctx, []any{us.document()})
	us.published = us.published || mayBeInserted(err)
	if _, err = processWriteError(err); IsDuplicateKeyError(err) && us.published && us.chunkIndex > 0 {
		return nil
	}
	return err
}

// document returns the file's document.
func (us *GridFSUploadStream) document() bson.D {
	file := bson.D{
		{Key: "_id", Value: us.FileID},
		{Key: "length", Value: us.fileLen},
		{Key: "chunkSize", Value: us.chunkSize},
		{Key: "uploadDate", Value: us.uploadDate},
		{Key: "filename", Value: us.filename},
	}
	if us.metadata != nil {
		file = append(file, bson.E{Key: "metadata", Value: us.metadata})
	}
	return file
}

// mayBeInserted reports whether an insert of one document, which failed with this error of its operation, may have inserted it.
func mayBeInserted(err error) bool {
	failed, _ := err.(driver.BatchesError)
	for _, o := range failed.Outcomes {
		if o.Kind == driver.OutcomeUnknown || o.Kind == driver.OutcomeExecuted && len(o.Written.WriteErrors) == 0 {
			return true // in the second case it is, but without the write concern
		}
	}
	return false
}

// Abort ends the upload and deletes the chunks that it has written, and the file's document if a failed Close may have written it. It
// returns ErrStreamClosed if the stream is closed. If it returns another error, it can be called again. If the context has ended, Abort has
// two seconds of its own.
//
//fork:replace it deleted the chunks of a file with the same ID that was there before; after a timeout it deleted nothing
func (us *GridFSUploadStream) Abort() error {
	if us.closed {
		return ErrStreamClosed
	}
	return us.abort(false)
}

// abort deletes what the upload has stored, in the driver's own time if that of the stream is up or a call was late, and ends the stream.
func (us *GridFSUploadStream) abort(late bool) error {
	ctx := us.ctx
	if ctx == nil { // nor had OpenUploadStream one
		ctx = context.Background()
	}
	if late || ctx.Err() != nil {
		own, cancel := backpressure.ForCleanUp(ctx)
		defer cancel()
		ctx = own
	}
	if err := us.remove(ctx); err != nil {
		return err
	}
	us.end()
	return nil
}

// remove deletes what the upload has stored.
func (us *GridFSUploadStream) remove(ctx context.Context) error {
	if us.published { // first, so that nobody finds a file whose chunks are gone
		mine := append(idFilter("_id", us.FileID), bson.E{Key: "uploadDate", Value: us.uploadDate})
		if _, err := us.filesColl.DeleteOne(ctx, mine); err != nil {
			return err
		}
		us.published = false
	}
	if err := us.removeUnsure(ctx); err != nil {
		return err
	}
	if us.chunkIndex == 0 {
		return nil // chunks with the same ID are not this upload's, unless its first one was stored
	}
	_, err := us.chunksColl.DeleteMany(ctx, idFilter("files_id", us.FileID))
	return err
}

// UploadFromStreamWithID uploads a file given a source stream, with the ID that is given. If it returns an error, the file's chunks are
// deleted, so that it can be called again, unless the file may be there, as after a write concern error, or there is another one with this
// ID, or the error says that they could not be deleted. Delete then deletes them, and any file with this ID. In a transaction, abort that.
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

	buffer := b.readBuf
	if len(buffer) == 0 { // without a chunk size, which the options of the upload may have
		buffer = nil
	}
	from := &uploadSource{Reader: source}
	if _, err = io.CopyBuffer(us, from, buffer); err == nil {
		err = us.Close()
	}
	if from.err == nil { // otherwise it is the application's own
		err = us.ofLaterCommand(err, 0)
	}
	if err == nil || us.published || us.uploadDate != 0 && IsDuplicateKeyError(err) { // the chunks may be those of a file that is there
		return err
	}
	abortErr := us.abort(IsTimeout(err))
	if abortErr == nil || sessionFromContext(ctx).TransactionRunning() { // whose abort removes them, too
		return err
	}
	return fmt.Errorf("%w (the chunks of the file could not be deleted: %v)", err, abortErr)
}

// uploadSource is the source of an upload. It fails after too many reads in a row without bytes, as a bufio.Reader does.
type uploadSource struct {
	io.Reader
	empty int // reads in a row without bytes
	err   error
}

func (s *uploadSource) Read(p []byte) (n int, err error) {
	if n, err = s.Reader.Read(p); n > 0 {
		s.empty = 0
	} else if s.empty++; s.empty >= 100 && err == nil {
		err = io.ErrNoProgress
	}
	if err != io.EOF {
		s.err = err
	}
	return n, err
}

// Delete deletes the file's document, and then its chunks. If it returns an error, what comes after the command that failed was not done,
// and it can be called again. If there is no such file, it deletes chunks that an earlier Delete has left, and returns ErrFileNotFound.
//
//fork:replace it deleted the chunks although the file's document was not deleted
func (b *GridFSBucket) Delete(ctx context.Context, fileID any) error {
	ctx, cancel := csot.WithTimeout(ctx, b.db.client.timeout)
	defer cancel()

	res, err := b.filesColl.DeleteOne(ctx, idFilter("_id", fileID))
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

// Drop drops the collections of the bucket. If it returns an error, what comes after the command that failed was not dropped, and it can be
// called again.
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

package soak

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
)

const (
	fileSize  = 20_000
	chunkSize = 4_000
)

// filer stores files and reads them back.
type filer struct {
	worker
	seed uint64
}

// content returns the content of a file.
func (f *filer) content(n int64) []byte {
	random := rand.New(rand.NewPCG(f.seed, uint64(n)))
	bytes := make([]byte, fileSize)
	for i := range bytes {
		bytes[i] = byte(random.Uint32())
	}
	return bytes
}

func (f *filer) fileID(n int64) string { return fmt.Sprintf("%s, %d", f.name, n) }

func bucket(db *mongo.Database) *mongo.GridFSBucket {
	return db.GridFSBucket(options.GridFSBucket().SetName("files").SetChunkSizeBytes(chunkSize).
		SetReadConcern(readconcern.Majority()))
}

// store stores a file and reads it in the same session.
func (f *filer) store(ctx context.Context) error {
	session, err := f.client.StartSession()
	if err != nil {
		return err
	}
	defer session.EndSession(ctx)
	ctx = mongo.NewSessionContext(ctx, session)
	n, b := f.stream.next(), bucket(f.client.Database(f.database))
	if err := b.UploadFromStreamWithID(ctx, f.fileID(n), "file", bytes.NewReader(f.content(n))); err != nil {
		return err
	}
	f.stream.acknowledge(n)
	return f.compare(ctx, b, n)
}

// compare reads a stored file. An error that calls it incomplete is a violation.
func (f *filer) compare(ctx context.Context, b *mongo.GridFSBucket, n int64) error {
	var found bytes.Buffer
	_, err := b.DownloadToStream(ctx, f.fileID(n), &found)
	for _, broken := range []error{mongo.ErrFileNotFound, mongo.ErrWrongSize, mongo.ErrMissingChunk} {
		if errors.Is(err, broken) {
			f.report.violation("files that are not whole", "%s: %v", f.fileID(n), err)
			return nil
		}
	}
	if err != nil {
		return err
	}
	if !bytes.Equal(found.Bytes(), f.content(n)) {
		f.report.violation("files that are not whole", "%s: other bytes", f.fileID(n))
	}
	return nil
}

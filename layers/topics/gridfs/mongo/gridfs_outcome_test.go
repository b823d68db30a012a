package mongo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

func init() { topics["gridfs"] = true }

// bucketServer is a server with a bucket, that ends its write commands as a plan says.
type bucketServer struct {
	t       testing.TB
	plan    []string              // what is left of it
	begun   []string              // the whole
	from    string                // the collection whose first write command begins the plan; any, if it is empty
	docs    map[string][]bson.Raw // by collection
	last    string                // the last command
	tries   int                   // of it
	reply   bson.D                // to it, if it was executed
	changes int                   // that were made
	lost    bool                  // whether nobody was told how the last command for the files ended
}

// bucketEnds are how the write commands of a plan end.
var bucketEnds = []string{"accepted", "rejected", "rejected once", "closed before", "closed after", "error 13", "concern 64", "first only"}

func (b *bucketServer) answer(body bson.Raw) any {
	first := body.Index(0)
	coll, _ := first.Value().StringValueOK()
	switch first.Key() {
	case "find":
		var found []any
		for _, doc := range b.docs[coll] {
			if matches(doc, body.Lookup("filter").Document()) {
				found = append(found, doc)
			}
		}
		return scripted.OK(firstBatch(0, found...))
	case "listIndexes":
		return scripted.OK(firstBatch(0))
	case "insert", "delete":
		return b.write(body, coll, first.Key() == "insert")
	}
	return scripted.OK()
}

// matches reports whether a document has the values of a filter, each of which is compared with $eq or is in a list.
func matches(doc, filter bson.Raw) bool {
	fields, _ := filter.Elements()
	for _, field := range fields {
		if !strings.Contains(field.Value().String(), doc.Lookup(field.Key()).String()) {
			return false
		}
	}
	return true
}

// end is how the present command ends.
func (b *bucketServer) end() string { return append(b.plan[:len(b.plan):len(b.plan)], "accepted")[0] }

func (b *bucketServer) write(body bson.Raw, coll string, inserts bool) any {
	if b.from != "" && coll != b.from {
		b.reply = nil
		return b.execute(body, coll, inserts)
	}
	b.from = ""
	_, err := body.LookupErr("txnNumber")
	again := body.String() == b.last && b.tries < 6 && (err == nil || strings.HasPrefix(b.end(), "rejected"))
	if !again {
		if b.last != "" && len(b.plan) > 0 {
			b.plan = b.plan[1:]
		}
		b.last, b.tries, b.reply = body.String(), 0, nil
	}
	b.tries++
	end := b.end()
	if coll == "fs.files" {
		b.lost = strings.HasPrefix(end, "closed") || end == "first only" && inserts
	}
	switch {
	case end == "rejected", end == "rejected once" && b.tries == 1:
		return scripted.Rejected()
	case end == "closed before":
		return io.ErrUnexpectedEOF
	case end == "error 13":
		return scripted.Failure(13)
	case end == "closed after":
		b.execute(body, coll, inserts)
		return io.ErrUnexpectedEOF
	case end == "concern 64":
		return append(append(bson.D{}, b.execute(body, coll, inserts)...), concernError(64))
	case end == "first only" && inserts && b.tries == 1:
		docs, _ := body.Lookup("documents").Array().Values()
		b.insert(coll, docs[0].Document())
		return scripted.ShuttingDown()
	case end == "first only" && inserts:
		return io.ErrUnexpectedEOF
	}
	return b.execute(body, coll, inserts)
}

// execute executes a command, once, and returns its reply.
func (b *bucketServer) execute(body bson.Raw, coll string, inserts bool) bson.D {
	if b.reply != nil {
		return b.reply
	}
	n := 0
	var errs []bson.E
	if inserts {
		docs, _ := body.Lookup("documents").Array().Values()
		for n < len(docs) && b.insert(coll, docs[n].Document()) {
			n++
		}
		if n < len(docs) {
			errs = append(errs, writeErrorsAt(n))
		}
	} else {
		var kept []bson.Raw
		for _, doc := range b.docs[coll] {
			if !matches(doc, body.Lookup("deletes", "0", "q").Document()) {
				kept = append(kept, doc)
			}
		}
		n = len(b.docs[coll]) - len(kept)
		b.docs[coll] = kept
	}
	b.changes += n
	b.reply = scripted.OK(append(errs, bson.E{Key: "n", Value: n})...)
	return b.reply
}

// insert inserts a document of file 1, unless another one has its _id, or its number of a chunk.
func (b *bucketServer) insert(coll string, doc bson.Raw) bool {
	file, unique := "_id", "_id"
	if coll == "fs.chunks" {
		file, unique = "files_id", "n"
	}
	require.Equal(b.t, int32(1), doc.Lookup(file).Int32())
	for _, other := range b.docs[coll] {
		if other.Lookup("_id").Equal(doc.Lookup("_id")) || other.Lookup(unique).Equal(doc.Lookup(unique)) {
			return false
		}
	}
	b.docs[coll] = append(b.docs[coll], append(bson.Raw(nil), doc...))
	return true
}

// begin begins a plan, from a collection.
func (b *bucketServer) begin(plan []string, from string) {
	b.plan, b.begun, b.from, b.last = plan, plan, from, ""
}

// until makes a call until it is done. It fails the test if the error of a call that has changed something says that nothing was written.
func (b *bucketServer) until(call func() (done bool, err error)) {
	for tries := 0; ; tries++ {
		changes := b.changes
		done, err := call()
		for _, label := range []string{driver.NoWritesPerformed, driver.ErrRetryableError} {
			require.False(b.t, b.changes > changes && errorHasLabel(err, label), "%v: %v", b.begun, err)
		}
		if done {
			return
		}
		require.Less(b.t, tries, 10, "%v: %v", b.begun, err)
	}
}

// content returns what the chunks hold together, unless any is missing, how many there are, and whether there is a file.
func (b *bucketServer) content() (data []byte, chunks int, file bool) {
	files, stored := b.docs["fs.files"], b.docs["fs.chunks"]
	sort.Slice(stored, func(i, j int) bool { return stored[i].Lookup("n").Int32() < stored[j].Lookup("n").Int32() })
	for i, chunk := range stored {
		if int(chunk.Lookup("n").Int32()) != i {
			return nil, len(stored), len(files) > 0
		}
		_, bytes := chunk.Lookup("data").Binary()
		data = append(data, bytes...)
	}
	for _, file := range files {
		require.Positive(b.t, file.Lookup("chunkSize").Int32())
		if file.Lookup("length").AsInt64() != int64(len(data)) {
			data = nil
		}
	}
	return data, len(stored), len(files) > 0
}

var fileData = []byte("the content of a file, which needs several chunks")

// forEachPlan runs a test of each plan that begins so and has up to so many ends, from the first write command of any collection, or that
// of the file's document.
func forEachPlan(longest int, test func(plan []string, from string), begun ...string) {
	for _, from := range []string{"", "fs.files"} {
		test(begun, from)
	}
	for i := 0; i < len(bucketEnds) && len(begun) < longest; i++ {
		forEachPlan(longest, test, append(begun[:len(begun):len(begun)], bucketEnds[i])...)
	}
}

// newBucket returns a bucket of a server, with chunks of five bytes.
func newBucket(t *testing.T, plan []string, from string) (*bucketServer, *GridFSBucket) {
	server := &bucketServer{t: t, docs: map[string][]bson.Raw{}}
	server.begin(plan, from)
	s := lasting(t, server.answer)
	return server, connectScript(t, s).Database("db").GridFSBucket(options.GridFSBucket().SetChunkSizeBytes(5))
}

// open opens a stream with a small buffer.
func open(t *testing.T, bucket *GridFSBucket) *GridFSUploadStream {
	stream := must(bucket.OpenUploadStreamWithID(bgCtx, 1, "name"))(t)
	stream.buffer = make([]byte, 17)
	return stream
}

// storeFile stores the data as file 1.
func storeFile(t *testing.T, bucket *GridFSBucket) {
	stream := open(t, bucket)
	require.NoError(t, second(stream.Write(fileData)))
	require.NoError(t, stream.Close())
}

// TestGridFSUploads is about uploads, some of them of a byte, of which commands fail, and each call is made again until it succeeds. No
// broken file is ever there, and in the end the file is.
func TestGridFSUploads(t *testing.T) {
	for size, begun := range map[int][]string{len(fileData): nil, 1: {"closed after", "accepted"}} {
		content := fileData[:size]
		forEachPlan(3, func(plan []string, from string) {
			server, bucket := newBucket(t, plan, from)
			stream := open(t, bucket)
			check := func(err error) {
				data, _, file := server.content()
				require.True(t, !file || bytes.Equal(data, content), "%v: a file %q is there after %v", plan, data, err)
			}
			rest := content
			server.until(func() (bool, error) {
				n, err := stream.Write(rest)
				check(err)
				if err == nil {
					require.Equal(t, len(rest), n)
					return true, nil
				}
				changes := server.changes
				require.Equal(t, err, stream.Close(), "%v: a Close that is deferred", plan)
				require.Equal(t, changes, server.changes, "%v: it stores something", plan)
				rest = rest[n:]
				return false, err
			})
			server.until(func() (bool, error) {
				err := stream.Close()
				check(err)
				return err == nil, err
			})
			_, _, file := server.content()
			require.True(t, file && len(stream.unsure) == 0, "%v", plan)
			require.Equal(t, ErrStreamClosed, stream.Close())
		}, begun...)
	}
}

// TestGridFSAbort is about uploads that are aborted after an error, at any time: nothing of them stays, and another file stays.
func TestGridFSAbort(t *testing.T) {
	forEachPlan(2, func(plan []string, from string) {
		for _, other := range []bool{false, true} {
			server, bucket := newBucket(t, nil, "")
			if other {
				storeFile(t, bucket)
			}
			server.begin(plan, from)
			stream := open(t, bucket)
			_, err := stream.Write([]byte("another content of the same file, also of several chunks"))
			if err == nil && stream.Close() == nil {
				continue
			}
			for tries := 0; stream.Abort() != nil; tries++ {
				require.Less(t, tries, 10, "%v", plan)
			}
			data, chunks, file := server.content()
			require.True(t, file == other && chunks > 0 == other, "%v", plan)
			require.Equal(t, map[bool]string{true: string(fileData)}[other], string(data), "%v", plan)
		}
	})
}

// TestGridFSUploadAgain is about UploadFromStreamWithID, which is called until it succeeds, with the same ID. After an error nothing is
// there, or the file is, or the error says that its chunks could not be deleted.
func TestGridFSUploadAgain(t *testing.T) {
	forEachPlan(2, func(plan []string, from string) {
		server, bucket := newBucket(t, plan, from)
		server.until(func() (bool, error) {
			awake, data := false, bytes.NewReader(fileData)
			source := iotest.OneByteReader(readFunc(func(p []byte) (int, error) { // and sometimes none
				if awake = !awake; awake {
					return 0, nil
				}
				return data.Read(p)
			}))
			server.lost = false
			err := bucket.UploadFromStreamWithID(bgCtx, 1, "name", source)
			stored, chunks, file := server.content()
			if err == nil || file {
				require.True(t, file && bytes.Equal(fileData, stored), "%v: %v", plan, err)
				return true, err
			}
			if chunks > 0 {
				if !server.lost { // so that the file may be there
					require.Contains(t, err.Error(), "could not be deleted", "%v", plan)
				}
				for deletes := 0; !errors.Is(bucket.Delete(bgCtx, 1), ErrFileNotFound); deletes++ {
					require.Less(t, deletes, 10, "%v", plan)
				}
			}
			return false, err
		})
	})
}

// readFunc reads by a function.
type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// TestGridFSDelete is about Delete, which is called until it says that there is no such file. As long as the file is there, it is whole.
func TestGridFSDelete(t *testing.T) {
	forEachPlan(2, func(plan []string, from string) {
		server, bucket := newBucket(t, nil, "")
		storeFile(t, bucket)
		server.begin(plan, from)
		server.until(func() (bool, error) {
			err := bucket.Delete(bgCtx, 1)
			data, chunks, file := server.content()
			require.True(t, !file || bytes.Equal(data, fileData), "%v: %q after %v", plan, data, err)
			done := err == nil || errors.Is(err, ErrFileNotFound)
			require.True(t, !done || !file && chunks == 0, "%v", plan)
			return done, err
		})
	})
}

// TestGridFSMayBeInserted is about inserts of a file's document that were not executed, whatever the error.
func TestGridFSMayBeInserted(t *testing.T) {
	for _, kind := range []driver.OutcomeKind{driver.OutcomeFailed, driver.OutcomeRejected, driver.OutcomeUnsent} {
		require.False(t, mayBeInserted(driver.BatchesError{Err: io.EOF, Outcomes: []driver.Outcome{{Kind: kind, Documents: 1}}}), "%v", kind)
	}
}

// TestGridFSWriteAfterClose is about a Write after a Close that could not store the file's document: the last chunk is stored, so that what
// would follow it made the file unreadable.
func TestGridFSWriteAfterClose(t *testing.T) {
	for _, content := range []string{"of whole chunks", "of chunks and a part"} {
		server, bucket := newBucket(t, []string{"rejected"}, "fs.files")
		stream := open(t, bucket)
		require.NoError(t, second(stream.Write([]byte(content))))
		require.Error(t, stream.Close())
		n, err := stream.Write([]byte("s"))
		require.Error(t, err)
		require.Equal(t, 0, n)
		require.Equal(t, err, stream.Close(), "the file would lack what was written")
		_, _, file := server.content()
		require.False(t, file)
		require.NoError(t, stream.Abort())
	}
	// A Close that stored nothing leaves the stream as it was.
	server, bucket := newBucket(t, []string{"rejected"}, "")
	stream := open(t, bucket)
	require.NoError(t, second(stream.Write([]byte("one"))))
	require.Error(t, stream.Close())
	require.NoError(t, second(stream.Write([]byte(", and more"))))
	require.NoError(t, stream.Close())
	data, _, _ := server.content()
	require.Equal(t, "one, and more", string(data))
}

// TestGridFSWriteOfLessThanTheRest is about what follows a Write that failed: the file lacks bytes until as many have come, and an empty Write
// brings none.
func TestGridFSWriteOfLessThanTheRest(t *testing.T) {
	server, bucket := newBucket(t, []string{"rejected"}, "")
	stream := open(t, bucket)
	content := make([]byte, 40)
	n, failed := stream.Write(content)
	require.Error(t, failed)
	for rest := content[n:]; len(rest) > 0; rest = rest[len(rest)/2+1:] {
		require.NoError(t, second(stream.Write(nil)))
		require.Equal(t, failed, stream.Close())
		_, _, file := server.content()
		require.False(t, file)
		require.NoError(t, second(stream.Write(rest[:len(rest)/2+1])))
	}
	require.NoError(t, stream.Close())
	data, _, _ := server.content()
	require.Equal(t, len(content), len(data))
}

// TestGridFSAbortAfterTheEnd is about an upload whose context ends once chunks are stored: they are deleted nevertheless.
func TestGridFSAbortAfterTheEnd(t *testing.T) {
	for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
		server, bucket := newBucket(t, nil, "")
		ctx := scripted.NewContext()
		stream := open(t, bucket)
		stream.ctx = ctx
		require.NoError(t, second(io.Copy(struct{ io.Writer }{stream}, bytes.NewReader(fileData))))
		_, chunks, _ := server.content()
		require.Greater(t, chunks, 0)
		ctx.End(end)
		require.True(t, errors.Is(stream.Close(), end))
		require.NoError(t, stream.Abort())
		_, chunks, file := server.content()
		require.Equal(t, 0, chunks)
		require.False(t, file)
		require.Equal(t, ErrStreamClosed, stream.Abort())
	}
}

// A bucket may have no chunk size, or the smallest.
func TestGridFSUploadWithoutChunkSize(t *testing.T) {
	for size, want := range map[int32]error{0: ErrWrongSize, 1: nil} {
		_, bucket := newBucket(t, nil, "")
		bucket = bucket.db.GridFSBucket(options.GridFSBucket().SetChunkSizeBytes(size))
		err := bucket.UploadFromStreamWithID(bgCtx, 1, "name", strings.NewReader("file"))
		require.True(t, errors.Is(err, want), "%d: %v", size, err)
	}
}

// If there is another file with the ID, chunks with it may be that file's: the collection may have lost its index. Otherwise they go.
func TestGridFSUploadOverAnotherFile(t *testing.T) {
	server, bucket := newBucket(t, nil, "")
	storeFile(t, bucket)
	left := server.docs["fs.chunks"][1:2]
	delete(server.docs, "fs.chunks")
	err := bucket.UploadFromStreamWithID(bgCtx, 1, "name", strings.NewReader("file"))
	require.True(t, IsDuplicateKeyError(err), "%v", err)
	require.Len(t, server.docs["fs.chunks"], 1)

	server.docs = map[string][]bson.Raw{"fs.chunks": left}
	require.True(t, IsDuplicateKeyError(bucket.UploadFromStreamWithID(bgCtx, 1, "name", bytes.NewReader(fileData))))
	require.Empty(t, server.docs["fs.chunks"])
}

// TestGridFSAbortAgain is about an Abort that could not delete the chunks: it deletes only these, and no document of another upload.
func TestGridFSAbortAgain(t *testing.T) {
	server, bucket := newBucket(t, []string{"closed before", "accepted", "error 13"}, "fs.files")
	stream := open(t, bucket)
	require.NoError(t, second(stream.Write(fileData)))
	require.Error(t, stream.Close())
	server.docs["fs.files"] = []bson.Raw{must(bson.Marshal(bson.D{{Key: "_id", Value: 1}, {Key: "uploadDate", Value: bson.DateTime(1)}}))(t)}
	require.Error(t, stream.Abort())
	require.NoError(t, stream.Abort())
	require.Len(t, server.docs["fs.files"], 1)
	deletes := bucket.db.client.deployment.(*scripted.Script).Field("delete")
	require.Equal(t, []any{"fs.files", "fs.chunks", "fs.chunks"}, deletes[len(deletes)-3:])
}

// TestGridFSUploadByManyWrites is about chunks that a Write has stored before a command is rejected.
func TestGridFSUploadByManyWrites(t *testing.T) {
	_, bucket := newBucket(t, []string{"rejected"}, "fs.files")
	opts := options.GridFSUpload().SetChunkSizeBytes(uploadBufferSize / 4)
	err := bucket.UploadFromStreamWithID(bgCtx, 1, "name", bytes.NewReader(make([]byte, uploadBufferSize)), opts)
	require.True(t, errorHasLabel(err, driver.ErrSystemOverloadedError) && !errorHasLabel(err, driver.NoWritesPerformed), "%v", err)
}

// The server that has aborted the transaction has removed the chunks: the error says nothing else.
func TestGridFSUploadInAbortedTransaction(t *testing.T) {
	s := lasting(t, func(body bson.Raw) any {
		switch first := body.Index(0); {
		case first.Key() == "insert" && first.Value().StringValue() == "fs.files":
			return scripted.Failure(112)
		case first.Key() == "delete":
			return scripted.Failure(251)
		}
		return scripted.OK(firstBatch(0), bson.E{Key: "n", Value: 1})
	})
	client := connectScript(t, s)
	sess := must(client.StartSession())(t)
	require.NoError(t, sess.StartTransaction())
	bucket := client.Database("db").GridFSBucket()
	err := bucket.UploadFromStreamWithID(NewSessionContext(bgCtx, sess), 1, "name", strings.NewReader("a file"))
	failed := scripted.As[ServerError](t, err)
	require.True(t, failed.HasErrorCode(112), "%v", err)
	require.NotContains(t, err.Error(), "could not be deleted")
}

// A source that returns no bytes is read until it has done so too often in a row. Its own errors stay what they are.
func TestGridFSUploadOfNothing(t *testing.T) {
	_, bucket := newBucket(t, nil, "")
	for empty, fails := range map[int]bool{99: false, 100: true} {
		reads := 0
		err := bucket.UploadFromStreamWithID(bgCtx, 1, "name", readFunc(func(p []byte) (int, error) {
			if reads++; reads%(empty+1) == 0 {
				return copy(p, "a"), []error{nil, io.EOF}[reads/(empty+1)-1]
			}
			return 0, nil
		}))
		require.Equal(t, map[bool]error{true: io.ErrNoProgress}[fails], err)
	}
	source := io.MultiReader(bytes.NewReader(make([]byte, 17<<20)), iotest.ErrReader(errors.Join(io.ErrClosedPipe, CommandError{Code: 5})))
	bucket = connectScript(t, lasting(t, scripted.OK(firstBatch(0)))).Database("db").GridFSBucket()
	require.True(t, errors.Is(bucket.UploadFromStreamWithID(bgCtx, 1, "name", source), io.ErrClosedPipe))
}

// TestGridFSIndexes is about the indexes of a bucket before its first file (gridfs-spec.md, "Before Write Operations").
func TestGridFSIndexes(t *testing.T) {
	s := lasting(t, scripted.OK(firstBatch(0), bson.E{Key: "n", Value: 1}))
	require.NoError(t, second(connectScript(t, s).Database("db").GridFSBucket().OpenUploadStream(bgCtx, "name")))
	names := []string{"find", "listIndexes", "createIndexes", "listIndexes", "createIndexes"}
	require.Equal(t, fmt.Sprint(names), fmt.Sprint(commandNames(s)))
	require.Equal(t, bson.D{{Key: "_id", Value: int32(1)}}, s.Field("projection")[0])
	files, chunks := s.Sent[2].Command.Lookup("indexes", "0").Document(), s.Sent[4].Command.Lookup("indexes", "0").Document()
	require.Equal(t, `{"filename": {"$numberInt":"1"},"uploadDate": {"$numberInt":"1"}}`, files.Lookup("key").String())
	require.Equal(t, `{"files_id": {"$numberInt":"1"},"n": {"$numberInt":"1"}}`, chunks.Lookup("key").String())
	require.True(t, chunks.Lookup("unique").Boolean())
	require.Equal(t, fmt.Sprint([]any{nil, nil, "fs.files", nil, "fs.chunks"}), fmt.Sprint(s.Field("createIndexes")))
}

// TestFailedDownloadGivesItsSessionBack is about a download that cannot go on, and that the application does not close.
func TestFailedDownloadGivesItsSessionBack(t *testing.T) {
	s := scripted.New(t, foundFile, scripted.OK(firstBatch(7)), scripted.Failure(13), scripted.OK())
	client := connectScript(t, s)
	stream := must(client.Database("db").GridFSBucket().OpenDownloadStream(bgCtx, 1))(t)
	_, err := stream.Read(make([]byte, 9))
	require.Equal(t, []int{13}, ErrorCodes(err))
	assert.Equal(t, 0, client.NumberSessionsInProgress())
}

// TestGridFSStreamsEndTheirContexts is about the contexts that streams make for the client's Timeout.
func TestGridFSStreamsEndTheirContexts(t *testing.T) {
	s := scripted.New(t, foundFile, scripted.OK(firstBatch(0)), scripted.OK(firstBatch(0, bson.D{{Key: "_id", Value: 1}})), scripted.OK())
	bucket := connectScript(t, s, options.Client().SetTimeout(time.Minute)).Database("db").GridFSBucket()
	stream := must(bucket.OpenDownloadStream(bgCtx, 1))(t)
	require.NoError(t, stream.ctx.Err())
	require.Equal(t, int32(1), stream.GetFile().ID)
	require.NoError(t, stream.Close())
	assert.Equal(t, context.Canceled, stream.ctx.Err())
	assert.Equal(t, ErrStreamClosed, stream.Close())

	upload := must(bucket.OpenUploadStream(bgCtx, "file"))(t)
	require.NoError(t, upload.Abort())
	assert.Equal(t, context.Canceled, upload.ctx.Err())
}

// TestGridFSCleanUpEndsWithTheDeadline is about the cursors of a bucket.
func TestGridFSCleanUpEndsWithTheDeadline(t *testing.T) {
	index := func(keys bson.D) bson.E { return firstBatch(7, bson.D{{Key: "key", Value: keys}}) }
	cleanUpsEndWithTheDeadline(t, []cleanUp{
		{name: "GridFSDownloadStream.Close", replies: []any{foundFile, emptyOpen}, run: calling("GridFSDownloadStream.Close"),
			commands: "find find killCursors killCursors killCursors killCursors"},
		{name: "the indexes of a bucket, getMore fails", replies: []any{scripted.OK(index(bson.D{{Key: "_id", Value: 1}}))},
			run: func(ctx context.Context, c *Collection) error {
				return second(hasNumericalIndex(ctx, c.Indexes(), IndexModel{Keys: bson.D{{Key: "n", Value: 1}}}))
			}, commands: "listIndexes getMore getMore getMore getMore killCursors"},
		{name: "GridFSBucket.UploadFromStream, indexes", run: calling("GridFSBucket.UploadFromStream", "file", content),
			replies:  []any{noKeys, scripted.OK(index(bson.D{{Key: "filename", Value: 1}, {Key: "uploadDate", Value: 1}}))},
			commands: "find listIndexes killCursors listIndexes listIndexes listIndexes listIndexes"},
	}...)
}

// TestErrorsOfLaterCommandsOfGridFS is about the methods of a bucket that send several commands.
func TestErrorsOfLaterCommandsOfGridFS(t *testing.T) {
	testErrorsOfLaterCommands(t, map[string]severalCommands{
		"the indexes of a bucket": {commands: 5,
			run: func(ctx context.Context, c *Collection) error { return bucketOf(c).createIndexes(ctx) }},
		"GridFSBucket.Drop":   {run: calling("GridFSBucket.Drop"), commands: 2},
		"GridFSBucket.Delete": {run: calling("GridFSBucket.Delete", 1), commands: 2},
	})
}

// Streams that a failed call has left with more to do send more commands.
func init() {
	withSeveralCommands = append(withSeveralCommands, []sendingMethod{
		{name: "GridFSUploadStream.Abort of a file that may be there", run: using(func(_ context.Context, us *GridFSUploadStream) error {
			us.chunkIndex, us.published, us.unsure = 1, true, []bson.ObjectID{{}}
			return us.Abort()
		})},
		{name: "GridFSUploadStream.Write after unsure chunks", run: using(func(_ context.Context, us *GridFSUploadStream) error {
			us.unsure, us.chunkSize, us.buffer = []bson.ObjectID{{}}, 3, make([]byte, 9)
			_, err := us.Write(make([]byte, 9))
			return err
		})},
	}...)
}

// TestGridFSMetadata is about what a file's document tells, and what an application stores there.
func TestGridFSMetadata(t *testing.T) {
	server, bucket := newBucket(t, nil, "")
	opts := options.GridFSUpload().SetMetadata(bson.D{{Key: "owner", Value: "me"}})
	require.NoError(t, bucket.UploadFromStreamWithID(bgCtx, 1, "name", strings.NewReader("file"), opts))
	file := server.docs["fs.files"][0]
	require.Equal(t, `"me" "name"`, file.Lookup("metadata", "owner").String()+" "+file.Lookup("filename").String())
	require.Equal(t, bson.TypeDateTime, file.Lookup("uploadDate").Type)
}

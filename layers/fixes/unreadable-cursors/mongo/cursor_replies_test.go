package mongo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
)

// ofCursor returns a reply with a batch of a cursor of which a field has another value, or none.
func ofCursor(batch, field string, value any) bson.D {
	whole := bson.D{{Key: "id", Value: int64(7)}, {Key: "ns", Value: "db.coll"}, {Key: batch, Value: bson.A{}}}
	return scripted.OK(bson.E{Key: "cursor", Value: with(whole, field, value)})
}

// malformedReplies returns replies whose cursor is not one, by what is wrong. A batch is firstBatch or nextBatch.
func malformedReplies(batch string) map[string]bson.D {
	replies := map[string]bson.D{"cursor absent": scripted.OK()}
	for _, value := range []any{absent, nil, "text", 1.5, bson.D{}, bson.A{}, int32(0)} {
		says := fmt.Sprintf(" %T %v", value, value)
		if value == absent {
			says = " absent"
		} else {
			replies["cursor"+says] = scripted.OK(bson.E{Key: "cursor", Value: value})
		}
		if _, ok := value.(bson.A); !ok {
			replies[batch+says] = ofCursor(batch, batch, value)
		}
		if _, ok := value.(int64); !ok {
			replies["id"+says] = ofCursor(batch, "id", value)
		}
		if batch == "firstBatch" {
			replies["ns"+says] = ofCursor(batch, "ns", value)
		}
	}
	return replies
}

// runSafely runs a call on a collection of a script. It must not panic.
func runSafely(t *testing.T, run func(context.Context, *Collection) error, s *scripted.Script, name string) error {
	t.Helper()
	coll := scriptColl(t, s)
	defer func() {
		if panicked := recover(); panicked != nil {
			t.Errorf("%s: %v: %v", name, s.Rest, panicked)
		}
	}()
	return run(bgCtx, coll)
}

// needsCursor are commands that cannot do without the cursor of a reply.
var needsCursor = regexp.MustCompile("^(aggregate|bulkWrite|find|getMore|listCollections|listIndexes)$")

// TestEveryMethodWithMalformedCursors lets each method get a reply whose cursor is malformed: those that need a cursor fail.
func TestEveryMethodWithMalformedCursors(t *testing.T) {
	for i, method := range everySendingMethod() {
		for name, reply := range malformedReplies("firstBatch") {
			s := lasting(t, reply, method.replies...)
			err := runSafely(t, method.run, s, method.name)
			command := commandNames(s)[len(method.replies)]
			needs := needsCursor.MatchString(command) || method.name == "Database.RunCommandCursor"
			assert.True(t, err != nil || !needs, "%s/%d: %s: %s", method.name, i, name, command)
		}
	}
}

var cursorUses = map[string]func(context.Context, *Collection) error{
	"All": using(func(ctx context.Context, c *Cursor) error { return c.All(ctx, &[]bson.Raw{}) }),
	"Next": using(func(ctx context.Context, c *Cursor) error {
		for c.Next(ctx) && c.Current != nil {
			continue // a document that is nil ends this without an error, which is wrong
		}
		return errors.Join(c.Err(), c.Close(ctx))
	}),
	"TryNext": using(func(ctx context.Context, c *Cursor) error {
		for i := 0; i < 3; i++ {
			if c.TryNext(ctx) && c.Current == nil {
				return nil // which is wrong
			}
		}
		return errors.Join(c.Err(), c.Close(ctx))
	}),
	"Watch": using(func(ctx context.Context, s *ChangeStream) error {
		s.Next(ctx)
		return errors.Join(s.Err(), s.Close(ctx))
	}),
}

// TestMalformedBatches is about batches after the first, and about what is in them.
func TestMalformedBatches(t *testing.T) {
	for name, use := range cursorUses {
		for what, reply := range malformedReplies("nextBatch") {
			assert.Error(t, runSafely(t, use, lasting(t, reply, opened), name), "%s: %s", name, what)
		}
		for _, value := range otherTypes {
			switch value.(type) {
			case bson.D, bson.A: // which has the form of a document
				continue
			}
			for _, s := range []*scripted.Script{
				lasting(t, scripted.OK(), scripted.OK(firstBatch(7, value))), lasting(t, scripted.OK(nextBatch(7, value)), opened),
			} {
				assert.Error(t, runSafely(t, use, s, name), "%s: %T %v", name, value, value)
			}
		}
	}
}

// TestMalformedCursorGivesItsConnectionBack is about a cursor that would hold one.
func TestMalformedCursorGivesItsConnectionBack(t *testing.T) {
	s := newLoadBalancedScript(t, ofCursor("firstBatch", "firstBatch", absent))
	require.ErrorContains(t, second(scriptColl(t, s).Find(bgCtx, anything)), "firstBatch")
	s.Finish()
}

// download reads the file that the server has, by Read or by Skip.
func download(t *testing.T, skip bool, file bson.D, chunks ...bson.D) (string, error) {
	t.Helper()
	s := scripted.New(t, scripted.OK(firstBatch(0, file)))
	docs := make([]any, len(chunks))
	for i, chunk := range chunks {
		docs[i] = chunk
	}
	s.Rest = scripted.OK(firstBatch(0, docs...))
	stream, err := connectScript(t, s).Database("db").GridFSBucket().OpenDownloadStream(bgCtx, 1)
	if err != nil {
		return "", err
	}
	defer func() { _ = stream.Close() }()
	if skip {
		_, err = stream.Skip(9)
		return "", err
	}
	data, err := io.ReadAll(stream)
	return string(data), err
}

func TestGridFSDownload(t *testing.T) {
	data := must(download(t, false, storedFile, firstChunk, secondChunk))(t)
	assert.Equal(t, "abcdef", data)
	data = must(download(t, false, storedFile, with(firstChunk, "n", int64(0)), with(secondChunk, "n", int64(1))))(t)
	assert.Equal(t, "abcdef", data)
	require.NoError(t, second(download(t, true, storedFile, firstChunk, secondChunk)))
	_, err := download(t, false, storedFile, with(firstChunk, "data", "text"))
	require.ErrorContains(t, err, "chunk 0 of the file has data of type string, want binary")
}

// TestGridFSDownloadOfAnything is about files and chunks whose fields are missing or have other types or values. Whatever they are, the
// download ends with the file's content or with an error, and takes no more memory than the chunks have.
func TestGridFSDownloadOfAnything(t *testing.T) {
	for name, doc := range map[string]bson.D{"file": storedFile, "chunk": firstChunk} {
		for _, element := range doc {
			for _, value := range append([]any{absent}, otherTypes...) {
				key := element.Key
				for _, skip := range []bool{false, true} {
					file, chunk := storedFile, firstChunk
					if name == "file" {
						file = with(file, key, value)
					} else {
						chunk = with(chunk, key, value)
					}
					data, err := download(t, skip, file, chunk, secondChunk)
					if err == nil && !skip && key != "length" {
						assert.Equal(t, "abcdef", data, "%s %s: %T %v", name, key, value, value)
					}
					if name == "chunk" && ((key == "n" && value != int32(0) && value != int64(0)) || key == "data") {
						assert.Error(t, err, "%s %s: %T %v, skip %v", name, key, value, value, skip)
					}
				}
			}
		}
	}
}

// TestGridFSDownloadOfWrongSizes is about the lengths and chunk sizes of files, with the chunks of another one.
func TestGridFSDownloadOfWrongSizes(t *testing.T) {
	sizes := []int64{math.MinInt64, math.MinInt32, -4, -1, 0, 1, 4, 5, 6, 7, 8, math.MaxInt32, 1<<32 + 6, 1<<34 + 6, math.MaxInt64}
	for _, length := range sizes {
		for _, chunkSize := range sizes {
			if int64(int32(chunkSize)) != chunkSize {
				continue
			}
			file := with(with(storedFile, "length", length), "chunkSize", int32(chunkSize))
			for _, chunks := range [][]bson.D{nil, {firstChunk}, {firstChunk, secondChunk}, {secondChunk, firstChunk}} {
				data, err := download(t, false, file, chunks...)
				switch {
				case length == 0:
					assert.NoError(t, err)
					assert.Empty(t, data)
				case length == 6 && chunkSize == 4 && len(chunks) == 2 && chunks[0][0].Value == 1:
					assert.NoError(t, err)
				case length == 4 && chunkSize >= 4 && len(chunks) == 1:
					assert.NoError(t, err)
				case length < 0 && chunkSize != 0 && len(chunks) > 0:
					assert.ErrorIs(t, err, ErrWrongSize)
				default:
					assert.Error(t, err, "length %d, chunkSize %d, %d chunks: %q", length, chunkSize, len(chunks), data)
				}
			}
		}
	}
}

// TestGridFSDownloadAllocates is about a file that claims to have large chunks: nothing is allocated for what has not come.
func TestGridFSDownloadAllocates(t *testing.T) {
	stream := newGridFSDownloadStream(bgCtx, func() {}, nil, math.MaxInt32, &GridFSFile{Length: math.MaxInt64, ChunkSize: math.MaxInt32})
	assert.Equal(t, 0, cap(stream.buffer))
}

// TestGridFSUploadWithAnyIndexes is about an upload that finds indexes whose keys are not what drivers create.
func TestGridFSUploadWithAnyIndexes(t *testing.T) {
	named := bson.D{{Key: "v", Value: 2}, {Key: "key", Value: bson.D{{Key: "filename", Value: 1}, {Key: "uploadDate", Value: 1}}}}
	keys := append(
		[]any{absent, bson.D{{Key: "filename", Value: "text"}}, bson.D{{Key: "files_id", Value: 1.0}, {Key: "n", Value: 1.0}}},
		otherTypes...)
	for i, key := range keys {
		s := lasting(t, scripted.OK(firstBatch(0, with(named, "key", key)), bson.E{Key: "n", Value: 1}), scripted.OK(firstBatch(0)))
		bucket := connectScript(t, s).Database("db").GridFSBucket()
		_, err := bucket.UploadFromStream(bgCtx, "file", content())
		_, isDocument := key.(bson.D)
		assert.Equal(t, isDocument, err == nil, "%d %T: got %v", i, key, err)
	}
}

// TestGridFSWrongSizeStays is about a chunk of a wrong size: what follows it must not be read as if it were the next.
func TestGridFSWrongSizeStays(t *testing.T) {
	s := scripted.New(t, scripted.OK(firstBatch(0, storedFile)),
		scripted.OK(firstBatch(7, with(firstChunk, "data", []byte("abc")), secondChunk)), scripted.OK())
	stream := must(connectScript(t, s).Database("db").GridFSBucket().OpenDownloadStream(bgCtx, 1))(t)
	for i := 0; i < 3; i++ {
		n, err := stream.Read(make([]byte, 9))
		assert.Equal(t, 0, n)
		assert.ErrorIs(t, err, ErrWrongSize)
	}
	require.NoError(t, stream.Close())
	s.Finish()
}

// TestCountChunks is about files of no bytes, of whole chunks and of a part, and about sizes that cannot be right.
func TestCountChunks(t *testing.T) {
	for _, tt := range []struct {
		length int64
		size   int32
		want   int32
	}{
		{0, 5, 0}, {1, 5, 1}, {5, 5, 1}, {6, 5, 2}, {5, 1, 5}, {math.MaxInt32, 1, math.MaxInt32}, {math.MaxInt32 + 1, 1, -1},
		{-1, 5, -1}, {5, 0, -1},
	} {
		assert.Equal(t, tt.want, countChunks(tt.length, tt.size), "%+v", tt)
	}
}

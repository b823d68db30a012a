package mongo

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/inmemory"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

func marshaled(t *testing.T, value any, reg *bson.Registry) bsoncore.Document {
	t.Helper()
	doc, err := marshal(value, nil, reg)
	require.NoError(t, err)
	return doc
}

// TestMarshalAgain: documents do not share memory, and a document that cannot be encoded leaves nothing behind.
func TestMarshalAgain(t *testing.T) {
	t.Parallel()
	values := []any{
		bson.D{{Key: "a", Value: "first"}},
		bson.D{{Key: "b", Value: bson.D{{Key: "c", Value: make(chan int)}}}}, // nothing encodes that
		bson.D{{Key: "d", Value: strings.Repeat("x", 100_000)}},
		bson.M{"e": bson.A{1, "two"}},
		struct{ F int64 }{7},
	}
	for _, opts := range []*options.BSONOptions{nil, {IntMinSize: true}} {
		var got [][]byte
		for i := 0; i < 3*len(values); i++ {
			doc, err := marshal(values[i%len(values)], opts, nil)
			if i%len(values) == 1 {
				assert.Error(t, err)
			}
			got = append(got, doc)
		}
		for i, doc := range got {
			if i%len(values) == 1 {
				continue
			}
			value := values[i%len(values)]
			if opts != nil && i%len(values) == 4 {
				value = struct{ F int32 }{7}
			}
			want, err := bson.Marshal(value)
			require.NoError(t, err)
			assert.Equal(t, want, doc)
		}
	}
}

// TestLargeWriterIsNotKept: a client that has encoded a large document once must not keep its memory.
func TestLargeWriterIsNotKept(t *testing.T) {
	t.Parallel()
	for size, kept := range map[int]bool{1000: true, 1_000_000: false} {
		var out inmemory.Output
		enc := bson.NewEncoder(bson.NewDocumentWriter(&out))
		require.NoError(t, enc.Encode(bson.D{{Key: "a", Value: strings.Repeat("x", size)}}))
		assert.Equal(t, kept, out.Writer != nil)
		assert.Equal(t, len(out.Bytes), int(out.Bytes[0])|int(out.Bytes[1])<<8|int(out.Bytes[2])<<16)
	}
}

// TestMarshalInParallel: goroutines that encode documents of all sizes, and put an _id into the room that was left, get their own; none of
// them changes while others are encoded, and neither does the application's memory.
func TestMarshalInParallel(t *testing.T) {
	t.Parallel()
	spare := make([]byte, 0, 1000)
	given := bson.Raw(append(spare, bsoncore.BuildDocument(nil, bsoncore.AppendStringElement(nil, "a", "given"))...))
	before := append([]byte{}, given[:cap(given)]...)
	var working sync.WaitGroup
	for g := 0; g < 32; g++ {
		g := g
		working.Add(1)
		go func() {
			defer working.Done()
			var docs, want []bsoncore.Document
			for n := 0; n < 40; n++ {
				text := strings.Repeat(fmt.Sprintf("%d of %d, ", n, g), []int{1, 100, 10_000}[n%3])
				var value any = bson.D{{Key: "text", Value: text}}
				if n%4 == 3 {
					value = given
				}
				doc := marshaled(t, value, nil)
				id := bson.NewObjectID()
				elements := append(bsoncore.AppendObjectIDElement(nil, "_id", id), doc[4:len(doc)-1]...)
				want = append(want, bsoncore.BuildDocument(nil, elements))
				doc, _, err := ensureID(doc, id, nil, nil)
				require.NoError(t, err)
				docs = append(docs, doc)
			}
			for n := range docs {
				if string(docs[n]) != string(want[n]) {
					t.Errorf("document %d of goroutine %d changed", n, g)
				}
			}
		}()
	}
	working.Wait()
	assert.Equal(t, before, []byte(given[:cap(given)]))
}

type keptWith struct{ A string }

// TestApplicationKeepsTheWriter: an encoder of the application that writes with the writer of an earlier document changes no other one.
func TestApplicationKeepsTheWriter(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var kept []bson.ValueWriter
	reg := bson.NewRegistry()
	reg.RegisterTypeEncoder(reflect.TypeOf(keptWith{}), bson.ValueEncoderFunc(
		func(ec bson.EncodeContext, vw bson.ValueWriter, val reflect.Value) error {
			mu.Lock()
			for _, old := range kept {
				if dw, err := old.WriteDocument(); err == nil {
					_, _ = dw.WriteDocumentElement("late")
				}
			}
			kept = append(kept, vw)
			mu.Unlock()
			doc := bson.D{{Key: "own", Value: val.Field(0).String()}}
			encoder, err := bson.NewRegistry().LookupEncoder(reflect.TypeOf(doc))
			require.NoError(t, err)
			return encoder.EncodeValue(ec, vw, reflect.ValueOf(doc))
		}))
	for _, size := range []int{10, 100_000, 10, 100_000, 10} {
		value := keptWith{strings.Repeat("x", size)}
		want, err := bson.Marshal(bson.D{{Key: "own", Value: value.A}})
		require.NoError(t, err)
		doc, next := marshaled(t, value, reg), marshaled(t, value, reg)
		assert.True(t, string(want) == string(doc), "the document of %d bytes changed", size)
		assert.True(t, string(want) == string(next), "the document of %d bytes is another", size)
	}
}

// TestOrderedBatchesKeepTheirModels: the application may change its slice while the bulk write runs.
func TestOrderedBatchesKeepTheirModels(t *testing.T) {
	t.Parallel()
	insert, update := NewInsertOneModel(), NewUpdateOneModel()
	models := []WriteModel{insert, insert, update}
	batches := createOrderedBatches(models)
	for i := range models {
		models[i] = NewDeleteManyModel()
	}
	assert.Equal(t, []WriteModel{insert, insert}, batches[0].models)
	assert.Equal(t, []WriteModel{update}, batches[1].models)
}

// TestIDInPlace: a document keeps its _id, or gets one, in the memory that it has if there is room.
func TestIDInPlace(t *testing.T) {
	t.Parallel()
	id := bson.NewObjectID()
	for _, value := range []any{
		bson.D{}, bson.D{{Key: "a", Value: "text"}}, bson.D{{Key: "a", Value: bson.D{{Key: "_id", Value: 1}}}},
		bson.D{{Key: "_id", Value: 1}}, bson.D{{Key: "a", Value: 1}, {Key: "_id", Value: 2}}, bson.D{{Key: "$a", Value: 1}},
		bson.D{{Key: "_i", Value: 1}}, bson.D{{Key: "_idx", Value: 1}}, bson.D{{Key: "", Value: 1}},
	} {
		doc := marshaled(t, value, nil)
		want, wantID := append(bsoncore.Document(nil), doc...), any(id)
		if own, err := doc.LookupErr("_id"); err == nil {
			wantID = own.Int32()
		} else {
			elements := append(bsoncore.AppendObjectIDElement(nil, "_id", id), doc[4:len(doc)-1]...)
			want = bsoncore.BuildDocument(nil, elements)
		}
		for _, given := range []bsoncore.Document{doc[:len(doc):len(doc)], doc} { // without room, and with it
			got, gotID, err := ensureID(given, id, nil, nil)
			require.NoError(t, err)
			assert.Equal(t, want, got, "%v", value)
			assert.Equal(t, wantID, gotID, "%v", value)
		}
	}
	doc := marshaled(t, bson.D{{Key: "a", Value: 1}}, nil)
	got, _, err := ensureID(doc, id, nil, nil)
	require.NoError(t, err)
	assert.True(t, &doc[0] == &got[0], "it was copied")
}

// TestOrderedBatchesOfEmbeddedModels: such a model is in the batch of the model before it, which is not retried. The first of a bulk write
// panics: a batch of its own would be left out, and the writes after it in that batch, as if they had succeeded.
func TestOrderedBatchesOfEmbeddedModels(t *testing.T) {
	t.Parallel()
	embedded := struct{ *InsertOneModel }{NewInsertOneModel()}
	models := []WriteModel{NewDeleteOneModel(), embedded, NewInsertOneModel(), NewUpdateOneModel()}
	assert.Equal(t, []bulkWriteBatch{
		{models: models[:3], indexes: []int{0, 1, 2}},
		{models: models[3:], indexes: []int{3}, canRetry: true},
	}, createOrderedBatches(models))
	defer func() { assert.NotNil(t, recover(), "it did not panic") }()
	createOrderedBatches(models[1:])
}

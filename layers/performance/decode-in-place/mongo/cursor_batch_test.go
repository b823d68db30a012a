package mongo

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
)

func overDocuments(t *testing.T, reg *bson.Registry, documents []any) *Cursor {
	t.Helper()
	cursor, err := NewCursorFromDocuments(documents, nil, reg)
	require.NoError(t, err)
	return cursor
}

// TestAllReusesSlice: documents are decoded into the elements that the slice has, as before; the one after the last is zero.
func TestAllReusesSlice(t *testing.T) {
	t.Parallel()
	type document struct{ N, Old int }
	for length := 0; length <= 4; length++ {
		for more := 0; more <= 3; more++ {
			documents := []any{bson.D{{Key: "n", Value: 1}}, bson.D{{Key: "n", Value: 2}}, bson.D{{Key: "n", Value: 3}}}
			results := make([]document, length+more)
			for i := range results {
				results[i].Old = 9
			}
			results = results[:length]
			require.NoError(t, overDocuments(t, nil, documents).All(bgCtx, &results))
			want := make([]document, 3)
			for i := range want {
				want[i].N = i + 1
				if i != length && i < length+more {
					want[i].Old = 9
				}
			}
			assert.Equal(t, want, results, "%d of %d elements", length, length+more)
		}
	}
}

// TestRegistryDecodes: whatever decodes a document does so with the registry that it was given.
func TestRegistryDecodes(t *testing.T) {
	t.Parallel()
	reg := bson.NewRegistry()
	reg.RegisterTypeMapEntry(bson.TypeString, reflect.TypeOf(bson.Symbol("")))
	document := bson.D{{Key: "a", Value: "text"}}
	for name, decode := range map[string]func(into any) error{
		"Decode": func(into any) error {
			cursor := overDocuments(t, reg, []any{document})
			require.True(t, cursor.Next(bgCtx))
			return cursor.Decode(into)
		},
		"All": func(into any) error {
			var all []bson.D
			err := overDocuments(t, reg, []any{document, document}).All(bgCtx, &all)
			*into.(*bson.D) = all[1]
			return err
		},
		"SingleResult": func(into any) error { return NewSingleResultFromDocument(document, nil, reg).Decode(into) },
	} {
		var got bson.D
		require.NoError(t, decode(&got), name)
		assert.Equal(t, bson.D{{Key: "a", Value: bson.Symbol("text")}}, got, name)
	}
}

// TestDecodeInParallel: goroutines that decode one document, and batches of it, get the same values. The document that they share does not
// change, and neither do the values, when their own documents are overwritten.
func TestDecodeInParallel(t *testing.T) {
	t.Parallel()
	doc, err := bson.Marshal(bson.D{
		{Key: "text", Value: strings.Repeat("text", 100)}, {Key: "bytes", Value: []byte{1, 2, 3}},
		{Key: "inner", Value: bson.D{{Key: "list", Value: bson.A{1, "two", bson.D{{Key: "three", Value: 3.0}}}}}},
	})
	require.NoError(t, err)
	before := string(doc)
	var want bson.D
	require.NoError(t, bson.Unmarshal(doc, &want))
	describe := fmt.Sprintf("%v", want)

	var working sync.WaitGroup
	for g := 0; g < 32; g++ {
		working.Add(1)
		go func() {
			defer working.Done()
			for n := 0; n < 20; n++ {
				var one bson.D
				assert.NoError(t, getDecoder(doc, nil, nil).Decode(&one))
				own := append([]byte{}, doc...)
				cursor := overDocuments(t, nil, []any{bson.Raw(own), bson.Raw(doc), bson.Raw(own)})
				var all []bson.D
				var direct bson.D
				require.NoError(t, cursor.All(bgCtx, &all))
				require.NoError(t, getDecoder(own, nil, nil).Decode(&direct))
				for i := range own {
					own[i] = 0xff
				}
				for _, got := range append(all, one, direct) {
					if fmt.Sprintf("%v", got) != describe {
						t.Errorf("got %v, want %v", got, describe)
					}
				}
			}
		}()
	}
	working.Wait()
	assert.Equal(t, before, string(doc))
}

type keptFrom struct{ A string }

// TestApplicationKeepsTheReader: a decoder of the application that reads with the reader of an earlier document disturbs no other one.
func TestApplicationKeepsTheReader(t *testing.T) {
	t.Parallel()
	var kept []bson.ValueReader
	reg := bson.NewRegistry()
	reg.RegisterTypeDecoder(reflect.TypeOf(keptFrom{}), bson.ValueDecoderFunc(
		func(dc bson.DecodeContext, vr bson.ValueReader, val reflect.Value) error {
			for _, old := range kept {
				if dr, err := old.ReadDocument(); err == nil {
					_, _, _ = dr.ReadElement()
				}
			}
			kept = append(kept, vr)
			var doc bson.M
			decoder, err := bson.NewRegistry().LookupDecoder(reflect.TypeOf(doc))
			require.NoError(t, err)
			err = decoder.DecodeValue(dc, vr, reflect.ValueOf(&doc).Elem())
			val.Field(0).SetString(fmt.Sprint(doc["a"]))
			return err
		}))
	documents := []any{bson.D{{Key: "a", Value: "1"}}, bson.D{{Key: "a", Value: "2"}}, bson.D{{Key: "a", Value: "3"}}}
	var got []keptFrom
	require.NoError(t, overDocuments(t, reg, documents).All(bgCtx, &got))
	assert.Equal(t, []keptFrom{{"1"}, {"2"}, {"3"}}, got)
}

package mongo

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
)

// TestAllReusesSlice: documents are decoded into the elements that the slice has, as before; the one after the last is zero.
func TestAllReusesSlice(t *testing.T) {
	t.Parallel()
	type document struct{ N, Old int }
	for length := 0; length <= 4; length++ {
		for more := 0; more <= 3; more++ {
			t.Run(fmt.Sprintf("%d of %d elements", length, length+more), func(t *testing.T) {
				cursor, err := NewCursorFromDocuments([]any{bson.D{{Key: "n", Value: 1}}, bson.D{{Key: "n", Value: 2}}, bson.D{{Key: "n", Value: 3}}}, nil, nil)
				require.NoError(t, err)
				results := make([]document, length+more)
				for i := range results {
					results[i].Old = 9
				}
				results = results[:length]
				require.NoError(t, cursor.All(context.Background(), &results))
				want := make([]document, 3)
				for i := range want {
					want[i].N = i + 1
					if i != length && i < length+more {
						want[i].Old = 9
					}
				}
				assert.Equal(t, want, results)
			})
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
			cursor, err := NewCursorFromDocuments([]any{document}, nil, reg)
			require.NoError(t, err)
			require.True(t, cursor.Next(context.Background()))
			return cursor.Decode(into)
		},
		"All": func(into any) error {
			cursor, err := NewCursorFromDocuments([]any{document, document}, nil, reg)
			require.NoError(t, err)
			var all []bson.D
			err = cursor.All(context.Background(), &all)
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

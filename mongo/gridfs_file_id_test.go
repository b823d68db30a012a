//fork:base <v2.9.1

package mongo

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
)

// TestGridFSFileID is about all commands that find a file or its chunks by an ID: it is compared with $eq, whatever it is.
func TestGridFSFileID(t *testing.T) {
	ctx := context.Background()
	ids := []any{
		bson.D{{Key: "$ne", Value: "none"}}, bson.D{{Key: "$gt", Value: "a"}}, bson.M{"$exists": true},
		bson.D{{Key: "$eq", Value: "a"}}, bson.D{{Key: "a", Value: "b"}}, "name", int32(1),
	}
	file := func(id any) bson.D {
		return bson.D{{Key: "_id", Value: id}, {Key: "length", Value: int64(1)}, {Key: "chunkSize", Value: int32(1)}}
	}
	found := func(ns string, docs ...any) bson.D {
		return scripted.OK(bson.E{Key: "cursor", Value: bson.D{
			{Key: "id", Value: int64(0)}, {Key: "ns", Value: ns}, {Key: "firstBatch", Value: append(bson.A{}, docs...)},
		}})
	}
	one := scripted.OK(bson.E{Key: "n", Value: 1})
	tests := map[string]struct {
		replies func(id any) []any
		run     func(*GridFSBucket, any) error
		paths   [][]string // of the filter, in each command
	}{
		"delete": {
			replies: func(any) []any { return []any{one, one} },
			run:     func(b *GridFSBucket, id any) error { return b.Delete(ctx, id) },
			paths:   [][]string{{"deletes", "0", "q", "_id"}, {"deletes", "0", "q", "files_id"}},
		},
		"rename": {
			replies: func(any) []any { return []any{one} },
			run:     func(b *GridFSBucket, id any) error { return b.Rename(ctx, id, "new") },
			paths:   [][]string{{"updates", "0", "q", "_id"}},
		},
		"download": {
			replies: func(id any) []any { return []any{found("db.fs.files", file(id)), found("db.fs.chunks")} },
			run:     func(b *GridFSBucket, id any) error { _, err := b.OpenDownloadStream(ctx, id); return err },
			paths:   [][]string{{"filter", "_id"}, {"filter", "files_id"}},
		},
		"abort": {
			replies: func(any) []any { return []any{found("db.fs.files", file(1)), one} },
			run: func(b *GridFSBucket, id any) error {
				stream, err := b.OpenUploadStreamWithID(ctx, id, "name")
				if err != nil {
					return err
				}
				stream.chunkIndex = 1 // a chunk was stored
				return stream.Abort()
			},
			paths: [][]string{nil, {"deletes", "0", "q", "files_id"}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, id := range ids {
				script := scripted.New(t, tt.replies(id)...)
				bucket := connectScript(t, script).Database("db").GridFSBucket()
				require.NoError(t, tt.run(bucket, id))
				require.Equal(t, len(tt.paths), len(script.Sent))
				for i, path := range tt.paths {
					if path == nil {
						continue
					}
					_, want, err := bson.MarshalValue(bson.D{{Key: "$eq", Value: id}})
					require.NoError(t, err)
					got, err := script.Sent[i].Command.LookupErr(path...)
					require.NoError(t, err, "%v", script.Sent[i].Command)
					assert.Equal(t, bson.Raw(want).String(), bson.Raw(got.Value).String())
				}
			}
		})
	}
}

package driver

import (
	"bytes"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/session"
)

func reply(t *testing.T, fields ...bson.E) bsoncore.Document {
	t.Helper()
	doc, err := bson.Marshal(append(bson.D{}, fields...))
	require.NoError(t, err)
	return doc
}

func TestSucceeded(t *testing.T) {
	ok, n := bson.E{Key: "ok", Value: 1.0}, bson.E{Key: "n", Value: int32(1)}
	for name, tt := range map[string]struct {
		reply bsoncore.Document
		want  bool
	}{
		"double":              {reply(t, n, ok), true},
		"int32":               {reply(t, bson.E{Key: "ok", Value: int32(1)}, n), true},
		"int64":               {reply(t, bson.E{Key: "ok", Value: int64(1)}), true},
		"true":                {reply(t, bson.E{Key: "ok", Value: true}), true},
		"either":              {reply(t, bson.E{Key: "ok", Value: 0}, ok), true},
		"zero":                {reply(t, bson.E{Key: "ok", Value: 0.0}), false},
		"two":                 {reply(t, bson.E{Key: "ok", Value: int32(2)}), false},
		"false":               {reply(t, bson.E{Key: "ok", Value: false}), false},
		"decimal":             {reply(t, bson.E{Key: "ok", Value: bson.NewDecimal128(0x3040000000000000, 1)}), false},
		"string":              {reply(t, bson.E{Key: "ok", Value: "1"}), false},
		"missing":             {reply(t, n), false},
		"empty":               {reply(t), false},
		"write errors":        {reply(t, ok, bson.E{Key: "writeErrors", Value: bson.A{bson.D{{Key: "code", Value: 1}}}}), false},
		"write concern error": {reply(t, bson.E{Key: "writeConcernError", Value: bson.D{}}, ok), false},
		"nothing":             {nil, false},
		"a byte too many":     {bsoncore.Document("\x12\x00\x00\x00\x01ok\x00\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00"), false},
		"document of 3 bytes": {bsoncore.Document("\x17\x00\x00\x00\x01ok\x00\x00\x00\x00\x00\x00\x00\xf0\x3f\x03x\x00\x03\x00\x00\x00"), false},
	} {
		assert.Equal(t, tt.want, ExtractErrorFromServerResponse(tt.reply) == nil, name)
	}
	// A malformed reply never succeeds, and has an error.
	whole := reply(t, ok, bson.E{Key: "text", Value: "abc"})
	named := func() bool {
		return Operation{Name: "ok"}.getCommandName(whole) == "ok" && ExtractErrorFromServerResponse(whole) == nil
	}
	assert.Equal(t, 0.0, testing.AllocsPerRun(10, func() { named() }), "they are only read")
	for end := range whole[:len(whole)-1] {
		assert.Error(t, ExtractErrorFromServerResponse(whole[:end]))
		_, err := whole[:end].Elements()
		assert.Error(t, err)
	}
}

// TestRepliesInParallel: goroutines that read one reply do not change it, and a cluster time does not change with the reply that it came
// in, whose memory is used for something else.
func TestRepliesInParallel(t *testing.T) {
	t.Parallel()
	const goroutines, times = 32, 100
	shared := reply(t, bson.E{Key: "n", Value: 1}, bson.E{Key: "ok", Value: 1})
	failed := reply(t, bson.E{Key: "ok", Value: 0}, bson.E{Key: "code", Value: 1}, bson.E{Key: "errorLabels", Value: bson.A{"one", "two"}})
	sharedBefore, failedBefore := append([]byte{}, shared...), append([]byte{}, failed...)
	clock := &session.ClusterClock{}
	var working sync.WaitGroup
	for g := 0; g < goroutines; g++ {
		g := g
		working.Add(1)
		go func() {
			defer working.Done()
			op := Operation{Name: "find", Clock: clock, Client: &session.Client{}}
			for n := 0; n < times; n++ {
				assert.NoError(t, ExtractErrorFromServerResponse(shared))
				err := ExtractErrorFromServerResponse(failed)
				assert.Equal(t, []string{"one", "two"}, err.(Error).Labels)

				seconds := uint32(n*goroutines + g + 1)
				time := reply(t, bson.E{Key: "$clusterTime", Value: bson.D{{Key: "clusterTime", Value: bson.Timestamp{T: seconds}}}})
				want := append(bson.Raw(nil), time...)
				op.updateClusterTimes(time)
				for i := range time {
					time[i] = 0xff
				}
				assert.Equal(t, want, op.Client.ClusterTime)
				assert.NoError(t, clock.GetClusterTime().Validate())
			}
		}()
	}
	working.Wait()
	want := reply(t, bson.E{Key: "$clusterTime", Value: bson.D{{Key: "clusterTime", Value: bson.Timestamp{T: goroutines * times}}}})
	assert.Equal(t, bson.Raw(want), clock.GetClusterTime())
	assert.True(t, bytes.Equal(sharedBefore, shared) && bytes.Equal(failedBefore, failed), "a reply was changed")
}

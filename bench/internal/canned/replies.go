package canned

import (
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/tools/fakeserver"
)

// Batches is the number of batches of a cursor whose find asks for a batch size; BatchSize is the number of documents in each,
// whatever size it asks for. A find without a batch size gets one document.
const (
	Batches   = 10
	BatchSize = 10
)

// ReplicaSet is the name of the replica set that the server says it is the primary of.
const ReplicaSet = "canned"

// maxWireVersion is MongoDB 8.0's.
const maxWireVersion = 25

// replies are all replies of a server.
type replies struct {
	legacyHello reply
	byName      map[string]reply
	firstBatch  reply // of a cursor with more
	lastBatch   reply
	unknown     reply
}

// newReplies encodes the replies of the server at an address.
func newReplies(address string) (*replies, error) {
	var errs []error
	encode := func(to fakeserver.Request, doc bson.D) reply {
		r, err := newReply(to, doc)
		errs = append(errs, err)
		return r
	}
	var command fakeserver.Request
	msg := func(doc bson.D) reply {
		return encode(command, append(append(doc, bson.E{Key: "ok", Value: 1.0}), gossip()...))
	}
	hello := helloReply(address)
	r := &replies{
		legacyHello: encode(fakeserver.Request{Legacy: true}, hello),
		firstBatch:  msg(cursorReply("firstBatch", BatchSize, hole)),
		lastBatch:   msg(cursorReply("nextBatch", BatchSize, int64(0))),
		unknown:     encode(command, bson.D{{Key: "ok", Value: 0.0}, {Key: "code", Value: 59}, {Key: "errmsg", Value: "no canned reply"}}),
		byName: map[string]reply{
			"hello":             encode(command, hello),
			"ismaster":          encode(command, hello), // of drivers that know no OP_QUERY any more
			"ping":              msg(nil),
			"find":              msg(cursorReply("firstBatch", 1, int64(0))),
			"getMore":           msg(cursorReply("nextBatch", BatchSize, hole)),
			"insert":            msg(bson.D{{Key: "n", Value: hole}}),
			"update":            msg(bson.D{{Key: "n", Value: hole}, {Key: "nModified", Value: 1}}),
			"commitTransaction": msg(nil),
			"abortTransaction":  msg(nil),
			"endSessions":       msg(nil),
			"dropDatabase":      msg(nil),
		},
	}
	return r, errors.Join(errs...)
}

// gossip is the end of every reply of a replica set.
func gossip() bson.D {
	now := bson.Timestamp{T: 1_700_000_000, I: 1}
	return bson.D{
		{Key: "$clusterTime", Value: bson.D{
			{Key: "clusterTime", Value: now},
			{Key: "signature", Value: bson.D{{Key: "hash", Value: bson.Binary{Data: make([]byte, 20)}}, {Key: "keyId", Value: int64(0)}}},
		}},
		{Key: "operationTime", Value: now},
	}
}

func helloReply(address string) bson.D {
	return bson.D{
		{Key: "helloOk", Value: true}, {Key: "ismaster", Value: true}, {Key: "isWritablePrimary", Value: true},
		{Key: "setName", Value: ReplicaSet}, {Key: "setVersion", Value: 1},
		{Key: "hosts", Value: bson.A{address}}, {Key: "primary", Value: address}, {Key: "me", Value: address},
		{Key: "maxBsonObjectSize", Value: 16 << 20}, {Key: "maxMessageSizeBytes", Value: fakeserver.MaxMessageSize},
		{Key: "maxWriteBatchSize", Value: 100_000}, {Key: "logicalSessionTimeoutMinutes", Value: 30},
		{Key: "minWireVersion", Value: 0}, {Key: "maxWireVersion", Value: maxWireVersion}, {Key: "readOnly", Value: false},
		{Key: "ok", Value: 1.0},
	}
}

func cursorReply(batch string, documents int, id int64) bson.D {
	all := make(bson.A, documents)
	for i := range all {
		all[i] = bson.D{{Key: "_id", Value: i}, {Key: "name", Value: "the quick brown fox"}, {Key: "count", Value: int64(i)}}
	}
	return bson.D{{Key: "cursor", Value: bson.D{
		{Key: "id", Value: id}, {Key: "ns", Value: "bench.documents"}, {Key: batch, Value: all},
	}}}
}

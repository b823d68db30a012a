package cost

import (
	"go.mongodb.org/mongo-driver/v2/bson"
)

const (
	address    = "memory:27017"
	replicaSet = "canned"
	// maxWireVersion is MongoDB 8.0's.
	maxWireVersion = 25
	// batches is the number of batches of a cursor whose find asks for a batch size, batchSize that of documents in each.
	batches, batchSize = 10, 10
	bulkSize           = 100
	thousand           = 1000
)

// Replies that more than a command's name decides on.
const (
	bulk           = "insert of many"
	insertThousand = "insert of a thousand"
	firstBatch     = "find of many"
	lastBatch      = "last getMore"
	all            = "all documents in one batch" // as the find's comment
)

// replies are all replies, by the command's name.
func replies() map[string]bson.D {
	hello := bson.D{
		{Key: "helloOk", Value: true}, {Key: "ismaster", Value: true}, {Key: "isWritablePrimary", Value: true},
		{Key: "setName", Value: replicaSet}, {Key: "setVersion", Value: 1},
		{Key: "hosts", Value: bson.A{address}}, {Key: "primary", Value: address}, {Key: "me", Value: address},
		{Key: "maxBsonObjectSize", Value: 16 << 20}, {Key: "maxMessageSizeBytes", Value: 48_000_000},
		{Key: "maxWriteBatchSize", Value: 100_000}, {Key: "logicalSessionTimeoutMinutes", Value: 30},
		{Key: "minWireVersion", Value: 0}, {Key: "maxWireVersion", Value: maxWireVersion}, {Key: "readOnly", Value: false},
		{Key: "ok", Value: 1.0},
	}
	return map[string]bson.D{
		"hello": hello, "isMaster": hello, "ismaster": hello,
		"find":              ok(cursor("firstBatch", 1, 0)),
		firstBatch:          ok(cursor("firstBatch", batchSize, 1)),
		"getMore":           ok(cursor("nextBatch", batchSize, 1)),
		lastBatch:           ok(cursor("nextBatch", batchSize, 0)),
		"insert":            ok(bson.E{Key: "n", Value: 1}),
		bulk:                ok(bson.E{Key: "n", Value: bulkSize}),
		insertThousand:      ok(bson.E{Key: "n", Value: thousand}),
		all:                 ok(cursor("firstBatch", thousand, 0)),
		"update":            ok(bson.E{Key: "n", Value: 1}, bson.E{Key: "nModified", Value: 1}),
		"bulkWrite":         ok(bulkWritten()...),
		"commitTransaction": ok(),
		"endSessions":       ok(),
	}
}

// bulkWritten is the reply to a client bulk write of inserts.
func bulkWritten() []bson.E {
	counts := []bson.E{cursor("firstBatch", 0, 0), {Key: "nInserted", Value: bulkSize}}
	for _, none := range []string{"nErrors", "nMatched", "nModified", "nUpserted", "nDeleted"} {
		counts = append(counts, bson.E{Key: none, Value: 0})
	}
	return counts
}

// ok is a reply of a replica set, with the times that all of them tell.
func ok(fields ...bson.E) bson.D {
	now := bson.Timestamp{T: 1_700_000_000, I: 1}
	return append(fields,
		bson.E{Key: "ok", Value: 1.0},
		bson.E{Key: "$clusterTime", Value: bson.D{
			{Key: "clusterTime", Value: now},
			{Key: "signature", Value: bson.D{{Key: "hash", Value: bson.Binary{Data: make([]byte, 20)}},
				{Key: "keyId", Value: int64(0)}}},
		}},
		bson.E{Key: "operationTime", Value: now})
}

func cursor(batch string, documents int, id int64) bson.E {
	all := make(bson.A, documents)
	for i := range all {
		all[i] = append(bson.D{{Key: "_id", Value: i}}, document()...)
	}
	return bson.E{Key: "cursor", Value: bson.D{{Key: "id", Value: id}, {Key: "ns", Value: "bench.documents"}, {Key: batch, Value: all}}}
}

// document is what is written and read.
func document() bson.D {
	return bson.D{{Key: "name", Value: "the quick brown fox"}, {Key: "count", Value: int64(1)}}
}

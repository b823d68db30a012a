package trial

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/wire"
	"mongofork/lab/virtual"
)

// fields are those that the driver reads of a reply.
var fields = []string{
	"ok", "code", "codeName", "errmsg", "errorLabels", "baseBackoffMS", "n", "nModified", "upserted", "writeErrors",
	"writeConcernError", "cursor", "value", "values", "lastErrorObject", "nErrors", "nInserted", "nUpserted", "nMatched",
	"nDeleted", "operationTime", "$clusterTime", "recoveryToken", "topologyVersion", "compression", "maxWireVersion",
	"minWireVersion", "maxBsonObjectSize", "maxMessageSizeBytes", "maxWriteBatchSize", "logicalSessionTimeoutMinutes", "setName",
	"setVersion", "electionId", "hosts", "passives", "arbiters", "me", "primary", "tags", "secondary", "isWritablePrimary",
	"ismaster", "msg", "helloOk", "hidden", "arbiterOnly", "connectionId", "serviceId", "saslSupportedMechs",
	"speculativeAuthenticate", "lastWrite", "conversationId", "done", "payload", "id", "ns", "firstBatch", "nextBatch",
	"postBatchResumeToken", "atClusterTime", "index", "idx", "_id", "length", "chunkSize", "files_id", "data",
}

// values are some that the driver may not expect. The table is read only.
var values = []any{
	nil, true, false, int32(0), int32(1), int32(-1), int32(2), int32(391), int32(462), int32(43), int32(10107),
	int32(math.MaxInt32), int32(math.MinInt32), int64(0), int64(1), int64(math.MaxInt32 + 1), int64(math.MaxInt64),
	int64(math.MinInt64), int64(math.MaxInt64 / 1_000_000), 0.0, 1.0, -1.0, 0.5, math.NaN(), math.Inf(1), math.Inf(-1), 1e300,
	1e-300, "", "x", "db.c", "$", "a.b.c", "\x00", "zstd", "127.0.0.1:27017", "127.0.0.1:99999", "isdbgrid", "\xff",
	bson.MinKey{}, bson.MaxKey{}, bson.Regex{Pattern: "("}, bson.JavaScript("x"), bson.Undefined{}, bson.Timestamp{},
	bson.Timestamp{T: math.MaxUint32, I: math.MaxUint32}, time.UnixMilli(-1), time.UnixMilli(math.MaxInt64 / 2),
	time.UnixMilli(math.MinInt64 / 2), bson.Binary{}, bson.Binary{Subtype: 4, Data: make([]byte, 16)},
	bson.Binary{Subtype: 2, Data: make([]byte, 3)}, bson.ObjectID{}, bson.A{}, bson.D{},
}

// value returns one of those, labels, or a document, which may be deep.
func (s source) value(depth int) any {
	switch s.IntN(7) {
	case 0:
		labels := []any{"SystemOverloadedError", "RetryableError", "NoWritesPerformed", "RetryableWriteError",
			"TransientTransactionError", "UnknownTransactionCommitResult", "ResumableChangeStreamError", ""}
		s.Shuffle(len(labels), func(i, j int) { labels[i], labels[j] = labels[j], labels[i] })
		return bson.A(labels[:s.IntN(5)])
	case 1:
		nested := any(bson.D{})
		for range pick(s, 1, 10, 150, 2000) {
			nested = bson.D{{Key: "a", Value: nested}}
		}
		return nested
	case 2:
		var doc bson.D
		for range s.IntN(4 - min(depth, 3)) {
			doc = append(doc, bson.E{Key: pick(s, fields...), Value: s.value(depth + 1)})
		}
		return pick[any](s, doc, doc, bson.A{doc, doc})
	}
	return pick(s, values...)
}

// altered returns a document in which something is altered.
func (s source) altered(doc bson.D) bson.D {
	i := s.IntN(len(doc) + 1)
	if i == len(doc) {
		return append(doc, bson.E{Key: pick(s, fields...), Value: s.value(0)})
	}
	switch s.IntN(20) {
	case 0:
		return slices.Delete(doc, i, i+1)
	case 1:
		return append(doc, doc[i])
	case 2:
		doc[i].Key = pick(s, fields...)
	default:
		doc[i].Value = s.changed(doc[i].Value)
	}
	return doc
}

// changed returns another value, or one in which something is altered.
func (s source) changed(value any) any {
	switch v := value.(type) {
	case bson.D:
		if !s.chance(5) {
			return s.altered(v)
		}
	case bson.A:
		if len(v) > 0 && !s.chance(5) {
			i := s.IntN(len(v))
			v[i] = s.changed(v[i])
			return v
		}
	case bson.Binary:
		return bson.Binary{Data: s.payload(v.Data)}
	}
	return s.value(0)
}

// payload alters one of SASL.
func (s source) payload(data []byte) []byte {
	before, _, scram := bytes.Cut(data, []byte("i="))
	switch {
	case scram && !s.chance(3):
		return append(before, "i="+pick(s, "0", "-1", "30000000", "99999999999999999999", "x", "4096,i=30000000", "")...)
	case len(data) > 0 && s.chance(2):
		return s.flipped(data, 0)
	}
	return make([]byte, pick(s, 0, 1, 1000, 100_000))
}

// flipped returns data with some bits flipped, from an offset on.
func (s source) flipped(data []byte, from int) []byte {
	data = slices.Clone(data)
	for range 1 + s.IntN(4) {
		data[from+s.IntN(len(data)-from)] ^= 1 << s.IntN(8)
	}
	return data
}

// document returns a reply, or an error that a server may return, in which something is altered.
func (s source) document(reply bson.Raw) bson.Raw {
	var doc bson.D
	if bson.Unmarshal(reply, &doc) != nil {
		return reply
	}
	if s.chance(4) {
		code := pick[int32](s, 1, 18, 43, 91, 112, 189, 251, 262, 391, 391, 462, 462, 10107, 11600, 13435)
		labels := pick(s, s.value(3), any(bson.A{"SystemOverloadedError", "RetryableError"}))
		backoff := pick[any](s, int32(1), int64(math.MaxInt64), -1, 1e18, "x", int32(100))
		doc = bsondoc.D("ok", 0, "code", code, "errmsg", "hostile", "errorLabels", labels, "baseBackoffMS", backoff)
	}
	for range s.IntN(4) {
		doc = s.altered(doc)
	}
	raw, err := bson.Marshal(doc)
	if err != nil {
		return reply
	}
	return raw
}

// message encodes a reply, which may say of itself what is not so.
func (s source) message(m *wire.Message) []byte {
	data := encode(m)
	if s.chance(3) {
		return s.flipped(data, 16)
	}
	if s.chance(4) {
		return s.compressed(data)
	}
	lengths := []uint32{
		0, 1, 15, 16, 17, uint32(len(data) - 1), uint32(len(data) + 1), 48_000_001, math.MaxInt32, 1 << 31, math.MaxUint32,
	}
	field := pick(s, []struct { // of the header, and the length of the document
		at     int
		values []uint32
	}{{0, lengths}, {8, []uint32{s.Uint32()}}, {12, []uint32{0, 1, 2004, 2010, 2011, 2012, 2013, s.Uint32()}},
		{16, []uint32{1, 2, 1 << 16, 3, s.Uint32()}}, {21, lengths}, {21, lengths}}...)
	binary.LittleEndian.PutUint32(data[field.at:], pick(s, field.values...))
	return data
}

// compressed returns a message as one that is compressed, with sizes and compressors that are not so.
func (s source) compressed(data []byte) []byte {
	content := wiremessage.AppendCompressedOriginalOpCode(nil, wiremessage.OpCode(pick[int32](s, 1, 2012, 2013, 2013, 2013, 0)))
	sizes := []int32{0, 1, -1, int32(len(data) - 16), int32(len(data)), 48_000_000, math.MaxInt32, math.MinInt32, 1 << 24}
	content = wiremessage.AppendCompressedUncompressedSize(content, pick(s, sizes...))
	content = wiremessage.AppendCompressedCompressorID(content, wiremessage.CompressorID(pick(s, 0, 0, 1, 1, 2, 255)))
	content = append(content, data[16:]...)
	_, id, responseTo, _, _, _ := wiremessage.ReadHeader(data)
	return append(wiremessage.AppendHeader(nil, int32(16+len(content)), id, responseTo, wiremessage.OpCompressed), content...)
}

// deliveries are the ways in which a message does not arrive as one.
func (s source) deliveries(data []byte) (parts []virtual.Delivery) {
	late := time.Duration(s.Int64N(int64(silence)))
	whole, again := virtual.Delivery{Data: data}, virtual.Delivery{After: late, Data: data}
	switch s.IntN(6) {
	case 0:
		return []virtual.Delivery{whole, whole}
	case 1:
		return []virtual.Delivery{again}
	case 2: // a byte at a time, of long messages the first
		slow := min(len(data), 5000)
		for i := range slow {
			parts = append(parts, virtual.Delivery{After: late * time.Duration(i) / time.Duration(slow), Data: data[i : i+1]})
		}
		return append(parts, virtual.Delivery{After: late, Data: data[slow:]})
	case 3: // with something behind it, so that the next reply may begin with the length of one that never ends
		return []virtual.Delivery{whole, {Data: make([]byte, 1+s.IntN(40))}, {After: silence}}
	case 4:
		return []virtual.Delivery{whole, again}
	}
	offset := s.IntN(len(data) + 1)
	return []virtual.Delivery{{Data: data[:offset:offset]}, {}} // the connection is closed there
}

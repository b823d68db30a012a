package driver

import (
	"context"
	"encoding/binary"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/driverutil"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/uuid"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/session"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// cannedConn is a connection on which one message arrives.
type cannedConn struct {
	mnet.ReadWriteCloser
	mnet.Describer
	wm []byte
}

func (c cannedConn) Read(context.Context) ([]byte, error) { return c.wm, nil }

// replyMessage returns an OP_REPLY, which says that it has so many documents.
func replyMessage(flags wiremessage.ReplyFlag, returned int32, documents []byte) []byte {
	idx, wm := wiremessage.AppendHeaderStart(nil, 1, 2, wiremessage.OpReply)
	wm = wiremessage.AppendReplyFlags(wm, flags)
	wm = wiremessage.AppendReplyCursorID(wm, 0)
	wm = wiremessage.AppendReplyStartingFrom(wm, 0)
	wm = wiremessage.AppendReplyNumberReturned(wm, returned)
	wm = append(wm, documents...)
	return bsoncore.UpdateLength(wm, idx, int32(len(wm)))
}

// FuzzReadReply reads bytes as the reply to a command, as an operation does, and follows its cursor and its error.
func FuzzReadReply(f *testing.F) {
	for _, doc := range seedReplies() {
		for _, wm := range seedMessages(f, doc) {
			f.Add(wm[4:])
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		// Connections read as many bytes as the length says, so that the length is always right.
		wm := make([]byte, 4, 4+len(data))
		binary.LittleEndian.PutUint32(wm, uint32(4+len(data)))
		wm = append(wm, data...)
		if announcesMore(wm, 1<<20) {
			t.Skip() // what is allocated for it is another test's matter
		}

		sess := &session.Client{ClientID: uuid.UUID{}, Server: &session.Server{}, Consistent: true}
		op := Operation{Client: sess, Clock: &session.ClusterClock{}, Name: driverutil.FindOp}
		conn := &mnet.Connection{ReadWriteCloser: cannedConn{wm: wm}}
		res, err := op.readWireMessage(context.Background(), conn)
		if err == nil {
			followReply(t, res)
		}
	})
}

// announcesMore reports whether a compressed message says that it decompresses to more than limit bytes.
func announcesMore(wm []byte, limit int32) bool {
	_, _, _, opcode, rem, ok := wiremessage.ReadHeader(wm)
	if !ok || opcode != wiremessage.OpCompressed || len(rem) < 8 {
		return false
	}
	return int32(binary.LittleEndian.Uint32(rem[4:])) > limit
}

func followReply(t *testing.T, res bsoncore.Document) {
	t.Helper()
	cursor, err := ExtractCursorDocument(res)
	if err != nil {
		return
	}
	resp, err := NewCursorResponse(cursor, ResponseInfo{})
	if err != nil {
		return
	}
	bc, err := NewBatchCursor(resp, nil, nil, CursorOptions{})
	if err != nil || bc.currentBatch == nil {
		return
	}
	_ = bc.Batch().Count()
	docs, _ := bc.Batch().Documents()
	for _, doc := range docs {
		_ = doc.Validate()
		_ = bson.Raw(doc).String()
	}
}

// FuzzExtractError makes errors of documents that nothing has validated.
func FuzzExtractError(f *testing.F) {
	for _, doc := range seedReplies() {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		if err := ExtractErrorFromServerResponse(data); err != nil {
			_ = err.Error()
		}
	})
}

// seedReplies returns replies with all fields that the driver reads.
func seedReplies() (replies []bsoncore.Document) {
	labels, clock := bson.A{"RetryableError"}, bson.Timestamp{T: 1, I: 1}
	for _, doc := range []bson.D{
		{{"ok", 1}},
		{
			{"ok", 0.0}, {"errmsg", "no"}, {"code", 462}, {"codeName", "n"}, {"errorLabels", labels},
			{"topologyVersion", bson.D{{"processId", bson.ObjectID{1}}, {"counter", int64(1)}}}, {"baseBackoffMS", 5},
		},
		{
			{"ok", 1}, {"writeErrors", bson.A{bson.D{{"index", 0}, {"code", 1}, {"errmsg", "no"}, {"errInfo", bson.D{}}}}},
			{"writeConcernError", bson.D{{"code", 91}, {"errmsg", "w"}, {"errorLabels", labels}}},
		},
		{
			{"cursor", bson.D{
				{"firstBatch", bson.A{bson.D{{"x", 1}}}}, {"ns", "d.c"}, {"id", int64(0)}, {"postBatchResumeToken", bson.D{}},
				{"atClusterTime", clock},
			}},
			{"$clusterTime", bson.D{{"signature", bson.D{}}, {"clusterTime", clock}}}, {"operationTime", clock},
			{"recoveryToken", bson.D{}}, {"ok", 1},
		},
	} {
		reply, _ := bson.Marshal(doc)
		replies = append(replies, reply)
	}
	return replies
}

// seedMessages returns a reply as OP_MSG, OP_REPLY and OP_COMPRESSED.
func seedMessages(f *testing.F, doc bsoncore.Document) [][]byte {
	f.Helper()
	idx, msg := wiremessage.AppendHeaderStart(nil, 1, 2, wiremessage.OpMsg)
	msg = wiremessage.AppendMsgFlags(msg, 0)
	msg = wiremessage.AppendMsgSectionType(msg, wiremessage.SingleDocument)
	msg = append(msg, doc...)
	msg = bsoncore.UpdateLength(msg, idx, int32(len(msg)))

	messages := [][]byte{msg, replyMessage(0, 1, doc)}
	for _, id := range []wiremessage.CompressorID{
		wiremessage.CompressorNoOp, wiremessage.CompressorSnappy, wiremessage.CompressorZLib, wiremessage.CompressorZstd,
	} {
		in, err := CompressPayload(msg[16:], CompressionOpts{Compressor: id, ZlibLevel: 6, ZstdLevel: 6})
		if err != nil {
			f.Fatal(err)
		}
		idx, packed := wiremessage.AppendHeaderStart(nil, 1, 2, wiremessage.OpCompressed)
		packed = wiremessage.AppendCompressedOriginalOpCode(packed, wiremessage.OpMsg)
		packed = wiremessage.AppendCompressedUncompressedSize(packed, int32(len(msg)-16))
		packed = wiremessage.AppendCompressedCompressorID(packed, id)
		packed = append(packed, in...)
		messages = append(messages, bsoncore.UpdateLength(packed, idx, int32(len(packed))))
	}
	return messages
}

func TestOperationTimeOfReplies(t *testing.T) {
	for _, value := range []any{
		nil, int32(1), "text", bson.A{}, bson.D{}, bson.Timestamp{}, bson.Timestamp{I: 1}, bson.Timestamp{T: 5, I: 6},
	} {
		reply, err := bson.Marshal(bson.M{"operationTime": value})
		require.NoError(t, err)
		op := Operation{Client: &session.Client{}}
		op.updateOperationTime(reply)
		time, isTime := value.(bson.Timestamp)
		assert.Equal(t, isTime && !time.IsZero(), op.Client.OperationTime != nil, "%v", value)
	}
}

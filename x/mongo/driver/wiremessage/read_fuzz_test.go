package wiremessage_test

import (
	"bytes"
	"testing"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// FuzzReadMessage reads bytes as each part of a wire message. What a reader leaves has to be the end of what it got.
func FuzzReadMessage(f *testing.F) {
	doc := bsoncore.NewDocumentBuilder().AppendInt32("ok", 1).Build()
	idx, msg := wiremessage.AppendHeaderStart(nil, 1, 2, wiremessage.OpMsg)
	msg = wiremessage.AppendMsgFlags(msg, wiremessage.MoreToCome)
	msg = wiremessage.AppendMsgSectionType(msg, wiremessage.SingleDocument)
	msg = append(msg, doc...)
	msg = wiremessage.AppendMsgSectionType(msg, wiremessage.DocumentSequence)
	at, msg := bsoncore.ReserveLength(msg)
	msg = append(msg, "documents\x00"...)
	msg = append(append(msg, doc...), doc...)
	msg = bsoncore.UpdateLength(msg, at, int32(len(msg))-at)
	msg = bsoncore.UpdateLength(msg, idx, int32(len(msg)))
	f.Add(msg)
	f.Add(msg[20:])
	f.Add(msg[21:])
	f.Add(msg[at:])
	f.Fuzz(func(t *testing.T, data []byte) {
		for name, read := range readers {
			rem, ok := read(data)
			if ok && !bytes.HasSuffix(data, rem) {
				t.Errorf("%s left %x of %x", name, rem, data)
			}
		}
		_ = wiremessage.IsMsgMoreToCome(data)
	})
}

var readers = map[string]func([]byte) ([]byte, bool){
	"ReadHeader": func(b []byte) ([]byte, bool) {
		_, _, _, opcode, rem, ok := wiremessage.ReadHeader(b)
		_ = opcode.String()
		return rem, ok
	},
	"ReadMsgFlags":       func(b []byte) ([]byte, bool) { _, rem, ok := wiremessage.ReadMsgFlags(b); return rem, ok },
	"ReadMsgSectionType": func(b []byte) ([]byte, bool) { _, rem, ok := wiremessage.ReadMsgSectionType(b); return rem, ok },
	"ReadMsgSectionSingleDocument": func(b []byte) ([]byte, bool) {
		_, rem, ok := wiremessage.ReadMsgSectionSingleDocument(b)
		return rem, ok
	},
	"ReadMsgSectionDocumentSequence": func(b []byte) ([]byte, bool) {
		_, _, rem, ok := wiremessage.ReadMsgSectionDocumentSequence(b)
		return rem, ok
	},
	"ReadMsgSectionRawDocumentSequence": func(b []byte) ([]byte, bool) {
		_, _, rem, ok := wiremessage.ReadMsgSectionRawDocumentSequence(b)
		return rem, ok
	},
	"ReadMsgChecksum":    func(b []byte) ([]byte, bool) { _, rem, ok := wiremessage.ReadMsgChecksum(b); return rem, ok },
	"ReadReplyDocuments": func(b []byte) ([]byte, bool) { _, rem, ok := wiremessage.ReadReplyDocuments(b); return rem, ok },
	"ReadReplyCursorID":  func(b []byte) ([]byte, bool) { _, rem, ok := wiremessage.ReadReplyCursorID(b); return rem, ok },
	"ReadCompressedCompressorID": func(b []byte) ([]byte, bool) {
		id, rem, ok := wiremessage.ReadCompressedCompressorID(b)
		_ = id.String()
		return rem, ok
	},
	"ReadCompressedOriginalOpCode": func(b []byte) ([]byte, bool) {
		_, rem, ok := wiremessage.ReadCompressedOriginalOpCode(b)
		return rem, ok
	},
	"ReadKillCursorsCursorIDs": func(b []byte) ([]byte, bool) {
		_, rem, ok := wiremessage.ReadKillCursorsCursorIDs(b, int32(len(b)))
		return rem, ok
	},
}

//fork:base <v2.9.3

package driver

import (
	"context"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// TestMalformedOpReply is about replies to a hello that was an OP_QUERY, with each flag and up to two documents: none may let
// the reader panic, and a failed query is an error however little it says.
func TestMalformedOpReply(t *testing.T) {
	t.Parallel()
	doc := bsoncore.NewDocumentBuilder().AppendInt32("ok", 1).Build()
	tests := map[string][]byte{
		"nothing": nil, "a document": doc, "two documents": append(append([]byte{}, doc...), doc...),
		"half a document": doc[:len(doc)-3], "half a length": {1, 0}, "no length": {0, 0, 0, 0},
		"a document and a half": append(append([]byte{}, doc...), doc[:7]...),
	}
	for name, documents := range tests {
		for flags := wiremessage.ReplyFlag(0); flags < 16; flags++ {
			for returned := int32(-1); returned < 3; returned++ {
				idx, wm := wiremessage.AppendHeaderStart(nil, 1, 2, wiremessage.OpReply)
				wm = wiremessage.AppendReplyFlags(wm, flags)
				wm = wiremessage.AppendReplyCursorID(wm, 0)
				wm = wiremessage.AppendReplyStartingFrom(wm, 0)
				wm = wiremessage.AppendReplyNumberReturned(wm, returned)
				wm = append(wm, documents...)
				wm = bsoncore.UpdateLength(wm, idx, int32(len(wm)))

				conn := &mnet.Connection{ReadWriteCloser: cannedConn{wm: wm}}
				_, err := Operation{}.readWireMessage(context.Background(), conn)
				good := name == "a document" || name == "a document and a half"
				if flags&(wiremessage.QueryFailure|wiremessage.CursorNotFound) != 0 || returned != 1 || !good {
					assert.Error(t, err, "%s, flags %d, %d returned", name, flags, returned)
				} else {
					assert.NoError(t, err, "%s, flags %d, %d returned", name, flags, returned)
				}
			}
		}
	}
}

// TestTruncatedOpReply is about failed queries whose reply ends before the documents.
func TestTruncatedOpReply(t *testing.T) {
	t.Parallel()
	for length := 0; length <= 20; length++ {
		idx, wm := wiremessage.AppendHeaderStart(nil, 1, 2, wiremessage.OpReply)
		fields := wiremessage.AppendReplyFlags(nil, wiremessage.QueryFailure)
		wm = append(wm, append(fields, make([]byte, 16)...)[:length]...)
		wm = bsoncore.UpdateLength(wm, idx, int32(len(wm)))
		conn := &mnet.Connection{ReadWriteCloser: cannedConn{wm: wm}}
		_, err := Operation{}.readWireMessage(context.Background(), conn)
		assert.Error(t, err, "%d bytes", length)
		assert.Equal(t, length == 20, strings.Contains(err.Error(), "a failed query without a document"), "%d bytes: %v", length, err)
	}
}

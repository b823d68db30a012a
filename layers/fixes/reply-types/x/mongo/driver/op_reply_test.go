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
				conn := &mnet.Connection{ReadWriteCloser: cannedConn{wm: replyMessage(flags, returned, documents)}}
				_, err := Operation{}.readWireMessage(context.Background(), conn)
				failed := flags&(wiremessage.QueryFailure|wiremessage.CursorNotFound) != 0
				good := !failed && returned == 1 && (name == "a document" || name == "a document and a half")
				assert.Equal(t, good, err == nil, "%s, flags %d, %d returned: %v", name, flags, returned, err)
				assert.False(t, !failed && err != nil && strings.Contains(err.Error(), "a failed query"), "%s, flags %d: %v", name, flags, err)
			}
		}
	}
}

// TestTruncatedOpReply is about failed queries whose reply ends before the documents.
func TestTruncatedOpReply(t *testing.T) {
	t.Parallel()
	const header, fields = 16, 20
	for length := 0; length <= fields; length++ {
		wm := replyMessage(wiremessage.QueryFailure, 0, nil)[:header+length]
		wm = bsoncore.UpdateLength(wm, 0, int32(len(wm)))
		conn := &mnet.Connection{ReadWriteCloser: cannedConn{wm: wm}}
		_, err := Operation{}.readWireMessage(context.Background(), conn)
		assert.Error(t, err, "%d bytes", length)
		assert.Equal(t, length == fields, strings.Contains(err.Error(), "a failed query without a document"), "%d bytes: %v", length, err)
	}
}

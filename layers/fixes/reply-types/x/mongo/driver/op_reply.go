//fork:base <v2.9.3

package driver

import (
	"errors"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// decodeOpReply reads an OP_REPLY, with which servers answer a hello sent as an OP_QUERY.
//
//fork:wrap a failed query without a document made it panic
func (op Operation) decodeOpReply(wm []byte) opReply {
	const fields = 8 + 4 + 4 // cursorID, startingFrom and numberReturned
	flags, rem, ok := wiremessage.ReadReplyFlags(wm)
	if ok && flags&wiremessage.QueryFailure != 0 && len(rem) >= fields {
		if _, _, ok := wiremessage.ReadReplyDocument(rem[fields:]); !ok {
			return opReply{err: errors.New("malformed OP_REPLY: a failed query without a document")}
		}
	}
	return op.upstreamDecodeOpReply(wm)
}

package scripted

import (
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/driverutil"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// answer returns the answer to a message, or an error to close the connection.
func (l *Listener) answer(request int32, opcode wiremessage.OpCode, body []byte) ([]byte, error) {
	if opcode == wiremessage.OpQuery {
		idx, wm := wiremessage.AppendHeaderStart(nil, wiremessage.NextRequestID(), request, wiremessage.OpReply)
		wm = wiremessage.AppendReplyFlags(wm, 0)
		wm = wiremessage.AppendReplyCursorID(wm, 0)
		wm = wiremessage.AppendReplyStartingFrom(wm, 0)
		wm = wiremessage.AppendReplyNumberReturned(wm, 1)
		wm = append(wm, l.hello()...)
		return bsoncore.UpdateLength(wm, idx, int32(len(wm))), nil
	}

	const flags, kind = 4, 1
	reply := l.hello()
	if command := bson.Raw(body[flags+kind:]); !isHello(command) {
		var err error
		if reply, err = l.replyTo(command); err != nil {
			return nil, err
		}
	}
	return message(request, reply), nil
}

// message returns a message with the reply to a request.
func message(request int32, reply []byte) []byte {
	idx, wm := wiremessage.AppendHeaderStart(nil, wiremessage.NextRequestID(), request, wiremessage.OpMsg)
	wm = wiremessage.AppendMsgFlags(wm, 0)
	wm = wiremessage.AppendMsgSectionType(wm, wiremessage.SingleDocument)
	wm = append(wm, reply...)
	return bsoncore.UpdateLength(wm, idx, int32(len(wm)))
}

// replyTo returns the reply to a command, or an error to close the connection.
func (l *Listener) replyTo(command bson.Raw) (bson.Raw, error) {
	l.Commands.Add(1)
	if next := l.Next.Swap(nil); next != nil {
		return bson.Marshal(*next)
	}
	answer := l.Answer.Load()
	if answer == nil {
		return l.reply, nil
	}
	switch reply := (*answer)(commandName(command)).(type) {
	case nil:
		return l.reply, nil
	case error:
		return nil, reply
	default:
		return bson.Marshal(reply)
	}
}

func commandName(command bson.Raw) string {
	first, err := command.IndexErr(0)
	if err != nil {
		return ""
	}
	return first.Key()
}

func isHello(command bson.Raw) bool {
	_, err := command.LookupErr("helloOk")
	return err == nil
}

func (l *Listener) hello() bson.Raw {
	addr := l.listener.Addr().String()
	return bson.Raw(bsoncore.NewDocumentBuilder().
		AppendInt32("ok", 1).
		AppendBoolean("helloOk", true).
		AppendBoolean("isWritablePrimary", true).
		AppendString("setName", "rs").
		AppendString("me", addr).
		AppendString("primary", addr).
		AppendArray("hosts", bsoncore.NewArrayBuilder().AppendString(addr).Build()).
		AppendInt32("maxBsonObjectSize", 16*1024*1024).
		AppendInt32("maxMessageSizeBytes", 48*1000*1000).
		AppendInt32("maxWriteBatchSize", 100000).
		AppendInt32("logicalSessionTimeoutMinutes", 30).
		AppendInt32("minWireVersion", 0).
		AppendInt32("maxWireVersion", int32(driverutil.MaxWireVersion)).
		Build())
}

//fork:base <v2.7.0

package operation

import (
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// handshakeCommand adds backpressure: true to the handshake, which tells the server that this client backs off when the server
// sheds load (client-backpressure.md, "Handshake changes"). Heartbeats do not carry it, because they do not use this function.
//
//fork:wrap says backpressure: true in the handshake
//fork:watch Hello.command Hello.GetHandshakeInformation
func (h *Hello) handshakeCommand(dst []byte, desc description.SelectedServer) ([]byte, error) {
	dst, err := h.upstreamHandshakeCommand(dst, desc)
	if err != nil {
		return dst, err
	}
	return bsoncore.AppendBooleanElement(dst, "backpressure", true), nil
}

//fork:base <v2.7.0

package operation

import (
	"go.mongodb.org/mongo-driver/v2/internal/handshake"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// handshakeCommand announces that the client backs off.
//
//fork:wrap says backpressure: true in the handshake
func (h *Hello) handshakeCommand(dst []byte, desc description.SelectedServer) ([]byte, error) {
	dst, err := h.upstreamHandshakeCommand(dst, desc)
	if err != nil {
		return dst, err
	}
	return handshake.AppendBackpressure(dst), nil
}

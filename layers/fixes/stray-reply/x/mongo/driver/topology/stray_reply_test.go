package topology

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// TestStrayReply is about replies to another message than the last.
func TestStrayReply(t *testing.T) {
	const request = 1000
	for answered, want := range map[int32]string{
		request: "", 0: "", request - 1: "the server replied to request 999, and not to 1000", -1: "the server replied to request -1",
	} {
		inner, server := piped(t)
		inner.id = "the connection"
		conn := &Connection{connection: inner}
		go func() {
			_, _ = server.Read(make([]byte, 16))
			_, _ = server.Write(wiremessage.AppendHeader(nil, 16, 5, answered, wiremessage.OpMsg))
		}()
		require.NoError(t, conn.Write(context.Background(), wiremessage.AppendHeader(nil, 16, request, 0, wiremessage.OpMsg)))
		_, err := conn.Read(context.Background())
		assert.Equal(t, want != "", inner.closed(), "%d", answered)
		if want == "" {
			assert.NoError(t, err, "%d", answered)
			continue
		}
		assert.ErrorContains(t, err, "connection(the connection) unexpected reply: "+want)
		assert.Equal(t, ErrConnectionClosed, new(Connection).refuse(err), "of who has returned it")
	}
}

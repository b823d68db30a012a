package topology

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// check checks the server. The check ends when the server is disconnected. The signal that checkServerWithSignal listens for is not
// enough: it is lost if it comes before checkServerWithSignal listens, and Disconnect then waits for the reply to a streaming hello.
//
//fork:wrap Disconnect must not wait
func (s *Server) check(ctx context.Context) (description.Server, error) {
	ctx, cancel := endWith(ctx, s.done)
	defer cancel()
	return s.upstreamCheck(ctx)
}

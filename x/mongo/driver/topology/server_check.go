package topology

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// check checks the server. The check ends when the server is disconnected. The signal that checkServerWithSignal listens for is not
// enough: it is lost if it comes before checkServerWithSignal listens, and Disconnect then waits for the reply to a streaming hello.
//
// If the server closed the connection of the previous check, because it limits the rate of new connections, a client with
// adaptiveThrottling waits first. That goes beyond server-monitoring.md, "Requesting an immediate check": while operations wait for
// the server, checks are further apart than minHeartbeatFrequencyMS.
//
//fork:wrap Disconnect must not wait; with adaptiveThrottling, clients that a server rejects must not all come back twice a second
func (s *Server) check(ctx context.Context) (description.Server, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-s.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	if s.pace.wait(ctx) != nil {
		return emptyDescription, errCheckCancelled
	}
	before := s.conn
	retDesc, retErr := s.upstreamCheck(ctx)
	if s.conn != before {
		s.pace.connected(retDesc.LastError)
	}
	return retDesc, retErr
}

package topology

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
)

// If it could not be established, the error has been processed: the pool hands it out first, and clears itself later. That would fail a
// retry that comes in between.
//
//fork:wrap a retry after a failed authentication found the pool as it was being cleared, for the same failure
func (s *Server) Connection(ctx context.Context) (*mnet.Connection, error) {
	conn, err := s.upstreamConnection(ctx)
	var failed ConnectionError
	if err != nil && errors.As(err, &failed) && failed.processing != nil {
		select {
		case <-failed.processing.ended:
		case <-ctx.Done():
		}
	}
	return conn, err
}

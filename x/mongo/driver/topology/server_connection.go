package topology

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
)

// If it could not be established, the error names the server, so that a retry can avoid it.
//
//fork:wrap a retry has to know which server was overloaded, though it has no connection to it
func (s *Server) Connection(ctx context.Context) (*mnet.Connection, error) {
	conn, err := s.upstreamConnection(ctx)
	switch e := err.(type) {
	case ConnectionError:
		e.server = s.address
		return nil, e
	case driver.Error:
		connErr, ok := e.Wrapped.(ConnectionError)
		if !ok {
			return nil, e
		}
		connErr.server, connErr.overloaded = s.address, e.HasErrorLabel(driver.ErrSystemOverloadedError)
		e.Wrapped = connErr
		return nil, e
	default:
		return conn, err
	}
}

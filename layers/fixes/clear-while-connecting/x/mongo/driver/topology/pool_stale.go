package topology

import "go.mongodb.org/mongo-driver/v2/bson"

// stale reports whether the pool was cleared after the connection was made.
//
//fork:replace a monitor that clears the pool read what a handshake writes
func (p *pool) stale(conn *connection) bool {
	return conn == nil || p.generation.stale(p.serviceOf(conn), conn.generation)
}

// serviceOf returns the service that the generation of a connection is of: behind a load balancer, that which its handshake has told. Of
// other connections the handshake may write the description at this moment.
func (p *pool) serviceOf(conn *connection) *bson.ObjectID {
	if !p.loadBalanced {
		return nil
	}
	return conn.desc.ServiceID
}

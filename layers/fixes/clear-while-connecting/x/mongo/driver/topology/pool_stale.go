package topology

import "go.mongodb.org/mongo-driver/v2/bson"

// stale reports whether the pool was cleared after the connection was made. The generation is that of its service behind a load balancer,
// which its handshake has told. Of other connections the handshake may write the description at this moment.
//
//fork:replace a monitor that clears the pool read what a handshake writes
func (p *pool) stale(conn *connection) bool {
	if conn == nil { // there is nothing to use
		return true
	}
	var service *bson.ObjectID
	if p.loadBalanced {
		service = conn.desc.ServiceID
	}
	return p.generation.stale(service, conn.generation)
}

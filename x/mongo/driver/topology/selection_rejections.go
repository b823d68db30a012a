package topology

import "go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"

// selectServerFromDescription returns the suitable servers. If there are several, and the client has met overload errors, it
// draws two of them and returns the one with less load.
//
//fork:wrap of two servers the one that is overloaded must not look like the idle one
//fork:watch Topology.SelectServer pick2 Server.OperationCount
func (t *Topology) selectServerFromDescription(
	desc description.Topology,
	selector description.ServerSelector,
) ([]description.Server, error) {
	suitable, err := t.upstreamSelectServerFromDescription(desc, selector)
	if err != nil || len(suitable) < 2 || t.cfg.overloadSeen == nil || !t.cfg.overloadSeen.Load() {
		return suitable, err
	}
	return t.lessLoaded(suitable), nil
}

// lessLoaded draws two of the servers at random, like SelectServer, and returns the one with fewer operations in progress and
// recent overload errors.
func (t *Topology) lessLoaded(suitable []description.Server) []description.Server {
	one, other := pick2(suitable)
	t.serversLock.Lock()
	oneServer, otherServer := t.servers[one.Addr], t.servers[other.Addr]
	t.serversLock.Unlock()

	switch {
	case oneServer == nil || otherServer == nil:
		return []description.Server{one, other}
	case otherServer.load() < oneServer.load():
		return []description.Server{other}
	default:
		return []description.Server{one}
	}
}

// load returns the load by which a server is chosen: its operations in progress plus its recent overload errors. Rejecting is
// quicker than executing, so by operations in progress alone a server that rejects would be preferred.
func (s *Server) load() int64 { return s.OperationCount() + s.rejections.Count() }

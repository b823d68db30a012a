package topology

import "go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"

// selectServerFromDescription returns the servers that are suitable, without waiting for others. A load balancer always is.
//
//fork:replace the descriptions of all servers, each of hundreds of bytes, were copied for each operation
func (t *Topology) selectServerFromDescription(
	desc description.Topology, selector description.ServerSelector,
) ([]description.Server, error) {
	if desc.CompatibilityErr != nil {
		return nil, desc.CompatibilityErr
	}
	if desc.Kind == description.TopologyKindLoadBalanced {
		return desc.Servers, nil
	}
	suitable, err := selector.SelectServer(desc, candidates(desc.Servers))
	if err != nil {
		return nil, ServerSelectionError{Wrapped: err, Desc: desc}
	}
	return suitable, nil
}

// candidates returns the servers that are known. It copies them only if there are others: a description does not change.
func candidates(servers []description.Server) []description.Server {
	known := 0
	for i := range servers {
		if servers[i].Kind != description.Unknown {
			known++
		}
	}
	if known == len(servers) {
		return servers[:known:known]
	}
	list := make([]description.Server, 0, known)
	for i := range servers {
		if servers[i].Kind != description.Unknown {
			list = append(list, servers[i])
		}
	}
	return list
}

// removeServer removes a server from a copy of the list.
//
//fork:replace it moved the servers of a published description, which selections may be reading in place
func (f *fsm) removeServer(i int) {
	rest := make([]description.Server, 0, len(f.Servers))
	rest = append(rest, f.Servers[:i]...)
	f.Servers = append(rest, f.Servers[i+1:]...)
}

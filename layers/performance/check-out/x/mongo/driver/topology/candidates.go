package topology

import "go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"

// selectServerFromDescription returns the servers that are suitable, without waiting for others. A load balancer always is.
//
//fork:replace the indexes of the candidates were listed for each operation, to copy each candidate once
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

// candidates returns a copy of the servers that are known. It belongs to the selection: pick2 swaps its elements, and a selector of the
// application's may sort them, while all other selections read the description.
func candidates(servers []description.Server) []description.Server {
	var known int
	for i := range servers {
		if servers[i].Kind != description.Unknown {
			known++
		}
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
//fork:replace SRV polling moved the servers of the published description, which selections may be reading
func (f *fsm) removeServer(i int) {
	rest := make([]description.Server, 0, len(f.Servers))
	rest = append(rest, f.Servers[:i]...)
	f.Servers = append(rest, f.Servers[i+1:]...)
}

package serverselector

import "go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"

// A single candidate of the kind is not copied.
//
//fork:wrap the description of the primary, of hundreds of bytes, was copied for each operation
func selectByKind(candidates []description.Server, kind description.ServerKind) []description.Server {
	if one := only(candidates, kind, kind, kind); one != nil {
		return one
	}
	return upstreamSelectByKind(candidates, kind)
}

// A single candidate that takes writes is not copied.
//
//fork:wrap as for selectByKind
func (selector *Write) SelectServer(topo description.Topology, candidates []description.Server) ([]description.Server, error) {
	one := only(candidates, description.ServerKindRSPrimary, description.ServerKindMongos, description.ServerKindStandalone)
	if one != nil {
		return one, nil
	}
	return selector.upstreamSelectServer(topo, candidates)
}

// only returns the candidate of one of the kinds, as a part of candidates, or nil if there is not exactly one.
func only(candidates []description.Server, a, b, c description.ServerKind) []description.Server {
	var found []description.Server
	for i := range candidates {
		kind := candidates[i].Kind
		if kind != a && kind != b && kind != c {
			continue
		}
		if found != nil {
			return nil
		}
		found = candidates[i : i+1 : i+1] // without room, so that to append to it leaves the others as they are
	}
	return found
}

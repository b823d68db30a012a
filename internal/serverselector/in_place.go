package serverselector

import "go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"

// A single candidate of the kind is not copied.
//
//fork:wrap the description of the primary, of hundreds of bytes, was copied for each operation
func selectByKind(candidates []description.Server, kind description.ServerKind) []description.Server {
	if one := only(candidates, func(k description.ServerKind) bool { return k == kind }); one != nil {
		return one
	}
	return upstreamSelectByKind(candidates, kind)
}

// A single candidate that takes writes is not copied.
//
//fork:wrap as for selectByKind
func (selector *Write) SelectServer(topo description.Topology, candidates []description.Server) ([]description.Server, error) {
	if one := only(candidates, isWritable); one != nil {
		return one, nil
	}
	return selector.upstreamSelectServer(topo, candidates)
}

func isWritable(kind description.ServerKind) bool {
	return kind == description.ServerKindRSPrimary || kind == description.ServerKindMongos || kind == description.ServerKindStandalone
}

// only returns the candidate whose kind suits, where it is, or nil if there is not exactly one.
func only(candidates []description.Server, suits func(description.ServerKind) bool) []description.Server {
	var found []description.Server
	for i := range candidates {
		if suits(candidates[i].Kind) {
			if found != nil {
				return nil
			}
			found = candidates[i : i+1 : i+1]
		}
	}
	return found
}

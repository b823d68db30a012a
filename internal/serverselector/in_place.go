package serverselector

import "go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"

// selectByKind returns the candidates of a kind.
//
//fork:replace descriptions, of hundreds of bytes each, were copied for each operation
func selectByKind(candidates []description.Server, kind description.ServerKind) []description.Server {
	return selectInPlace(candidates, func(k description.ServerKind) bool { return k == kind })
}

// SelectServer returns the candidates that take writes. A single server and a load balancer count as such.
//
//fork:replace as for selectByKind
func (selector *Write) SelectServer(topo description.Topology, candidates []description.Server) ([]description.Server, error) {
	switch topo.Kind {
	case description.TopologyKindSingle, description.TopologyKindLoadBalanced:
		return candidates, nil
	default:
		return selectInPlace(candidates, isWritable), nil
	}
}

func isWritable(kind description.ServerKind) bool {
	return kind == description.ServerKindRSPrimary || kind == description.ServerKindMongos || kind == description.ServerKindStandalone
}

// selectInPlace returns the candidates whose kinds suit: where they are, if they stand in a row, as one primary always does. What is
// appended to the result does not change the candidates.
func selectInPlace(candidates []description.Server, suits func(description.ServerKind) bool) []description.Server {
	first, end, count := 0, 0, 0
	for i := range candidates {
		if suits(candidates[i].Kind) {
			if count++; count == 1 {
				first = i
			}
			end = i + 1
		}
	}
	if count == end-first {
		return candidates[first:end:end]
	}
	selected := make([]description.Server, 0, count)
	for i := range candidates {
		if suits(candidates[i].Kind) {
			selected = append(selected, candidates[i])
		}
	}
	return selected
}

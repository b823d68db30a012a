//fork:base <v2.7.0

package driver

import (
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// SelectServer selects from the candidates that are not deprioritized; if none of those is suitable, from all
// (server-selection.md, "Server Selection Algorithm"). It identifies servers by address only, because a description can change
// between attempts.
//
//fork:replace deprioritized servers are filtered before the selection, not after it, so that a less preferred server can be found
func (oss *opServerSelector) SelectServer(
	topo description.Topology,
	candidates []description.Server,
) ([]description.Server, error) {
	if allowed := oss.withoutDeprioritized(candidates); len(allowed) < len(candidates) {
		suitable, err := oss.selector.SelectServer(topo, allowed)
		if err == nil && len(suitable) > 0 {
			return suitable, nil
		}
	}
	return oss.selector.SelectServer(topo, candidates)
}

// withoutDeprioritized returns the candidates that are not deprioritized.
func (oss *opServerSelector) withoutDeprioritized(candidates []description.Server) []description.Server {
	if len(oss.deprioritizedServers) == 0 {
		return candidates
	}
	deprioritized := make(map[address.Address]bool, len(oss.deprioritizedServers))
	for _, server := range oss.deprioritizedServers {
		deprioritized[server.Addr] = true
	}
	var allowed []description.Server
	for _, candidate := range candidates {
		if !deprioritized[candidate.Addr] {
			allowed = append(allowed, candidate)
		}
	}
	return allowed
}

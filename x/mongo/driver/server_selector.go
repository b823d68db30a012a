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
	if len(oss.deprioritizedServers) > 0 {
		allowed, deprioritized := oss.split(candidates)
		suitable, err := oss.selector.SelectServer(topo, append(allowed, yardsticks(deprioritized)...))
		if suitable, _ = oss.split(suitable); err == nil && len(suitable) > 0 {
			return suitable, nil
		}
	}
	return oss.selector.SelectServer(topo, candidates)
}

// split returns the candidates that are not deprioritized, and those that are.
func (oss *opServerSelector) split(candidates []description.Server) (allowed, deprioritized []description.Server) {
	addresses := make(map[address.Address]bool, len(oss.deprioritizedServers))
	for _, server := range oss.deprioritizedServers {
		addresses[server.Addr] = true
	}
	for _, candidate := range candidates {
		if addresses[candidate.Addr] {
			deprioritized = append(deprioritized, candidate)
		} else {
			allowed = append(allowed, candidate)
		}
	}
	return allowed, deprioritized
}

// yardsticks returns a primary that is deprioritized as a secondary that has no tags and no round trip time. It is not selected, but the
// staleness of secondaries is measured by what it has written, as long as it is known (max-staleness.md, "maxStalenessSeconds").
func yardsticks(deprioritized []description.Server) (primaries []description.Server) {
	for _, server := range deprioritized {
		if server.Kind == description.ServerKindRSPrimary {
			server.Kind, server.Tags, server.AverageRTTSet = description.ServerKindRSSecondary, nil, false
			primaries = append(primaries, server)
		}
	}
	return primaries
}

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
		deprioritized, allowed := split(candidates, oss.deprioritizedServers)
		suitable, err := oss.selector.SelectServer(topo, withYardsticks(allowed, deprioritized))
		if suitable, _ = split(allowed, suitable); err == nil && len(suitable) > 0 {
			return suitable, nil
		}
	}
	return oss.selector.SelectServer(topo, candidates)
}

// split returns the servers whose addresses the others have, and the rest.
func split(servers, others []description.Server) (found, rest []description.Server) {
	addresses := make(map[address.Address]bool, len(others))
	for _, other := range others {
		addresses[other.Addr] = true
	}
	for _, server := range servers {
		if addresses[server.Addr] {
			found = append(found, server)
		} else {
			rest = append(rest, server)
		}
	}
	return found, rest
}

// withYardsticks returns the servers, and beside them the deprioritized members of a replica set as secondaries without tags and round
// trip times, which are not selected, but by whose writes the staleness of the others is measured (max-staleness.md,
// "maxStalenessSeconds"). A primary among these is not known as such then, so that the times of the servers are moved to the time at which
// it was checked, as the formula with a primary does.
func withYardsticks(allowed, deprioritized []description.Server) []description.Server {
	measured := append([]description.Server{}, allowed...)
	for _, server := range deprioritized {
		switch server.Kind {
		case description.ServerKindRSPrimary:
			for i := range measured {
				checkedBefore := server.LastUpdateTime.Sub(measured[i].LastUpdateTime)
				measured[i].LastWriteTime = measured[i].LastWriteTime.Add(checkedBefore)
			}
		case description.ServerKindRSSecondary:
		default:
			continue
		}
		server.Kind, server.Tags, server.AverageRTTSet = description.ServerKindRSSecondary, nil, false
		measured = append(measured, server)
	}
	return measured
}

//fork:base <v2.7.0

package driver

import (
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// SelectServer selects from the candidates that are not deprioritized; if none of those is suitable, from all
// (server-selection.md, "Server Selection Algorithm"). It identifies servers by address only, because a description can change
// between attempts. Since v2.7.0 serverselector.Deprioritized does this.
//
//fork:replace deprioritized servers are filtered before the selection, not after it, so that a less preferred server can be found
func (oss *opServerSelector) SelectServer(
	topo description.Topology,
	candidates []description.Server,
) ([]description.Server, error) {
	if len(oss.deprioritizedServers) > 0 {
		addresses := make(map[address.Address]bool, len(oss.deprioritizedServers))
		for _, server := range oss.deprioritizedServers {
			addresses[server.Addr] = true
		}
		var preferred []description.Server
		for _, server := range candidates {
			if !addresses[server.Addr] {
				preferred = append(preferred, server)
			}
		}
		suitable, err := oss.selector.SelectServer(topo, preferred)
		if err == nil && len(suitable) > 0 {
			return suitable, nil
		}
	}
	return oss.selector.SelectServer(topo, candidates)
}

package serverselector

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// TestStalenessByAllMembers is about a retry on another member than the primary, which is then no candidate.
func TestStalenessByAllMembers(t *testing.T) {
	now := time.Now()
	member := func(addr string, kind description.ServerKind, behind time.Duration) description.Server {
		return description.Server{
			Addr: address.Address(addr), Kind: kind, LastUpdateTime: now, LastWriteTime: now.Add(-behind),
			HeartbeatInterval: 10 * time.Second, WireVersion: &description.VersionRange{Max: 25},
		}
	}
	primary := member("primary", description.ServerKindRSPrimary, 0)
	fresh := member("fresh", description.ServerKindRSSecondary, 79*time.Second)
	stale := member("stale", description.ServerKindRSSecondary, 81*time.Second)
	topo := description.Topology{
		Kind: description.TopologyKindReplicaSetWithPrimary, Servers: []description.Server{primary, fresh, stale},
	}
	selector := ReadPref{ReadPref: readpref.Secondary(readpref.WithMaxStaleness(90 * time.Second))}
	for _, candidates := range [][]description.Server{topo.Servers, topo.Servers[1:]} {
		suitable, err := selector.SelectServer(topo, candidates)
		assert.NoError(t, err)
		assert.Len(t, suitable, 1, "of %d candidates", len(candidates))
		assert.Equal(t, fresh.Addr, suitable[0].Addr)
	}
}

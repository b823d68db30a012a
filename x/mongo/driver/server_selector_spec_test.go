//fork:base <v2.7.0

package driver

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/serverselector"
	"go.mongodb.org/mongo-driver/v2/internal/spectest"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/tag"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// selectionTest is one of the server selection specification's logic tests.
type selectionTest struct {
	Topology struct {
		Type    string
		Servers []selectionServer
	} `bson:"topology_description"`
	Operation      string
	ReadPreference struct {
		Mode    string
		TagSets []map[string]string `bson:"tag_sets"`
	} `bson:"read_preference"`
	Deprioritized []selectionServer `bson:"deprioritized_servers"`
	InWindow      []selectionServer `bson:"in_latency_window"`
}

type selectionServer struct {
	Address string
	RTT     int `bson:"avg_rtt_ms"`
	Type    string
	Tags    map[string]string
}

func (s selectionServer) description() description.Server {
	kinds := map[string]description.ServerKind{}
	for _, kind := range []description.ServerKind{
		description.ServerKindMongos, description.ServerKindRSPrimary, description.ServerKindRSSecondary, description.ServerKindStandalone,
	} {
		kinds[kind.String()] = kind
	}
	return description.Server{
		Addr: address.Address(s.Address), AverageRTT: time.Duration(s.RTT) * time.Millisecond, AverageRTTSet: true,
		Kind: kinds[s.Type], Tags: tag.NewTagSetFromMap(s.Tags),
	}
}

func descriptions(servers []selectionServer) (descs []description.Server) {
	for _, server := range servers {
		descs = append(descs, server.description())
	}
	return descs
}

func (test selectionTest) selector(t *testing.T) description.ServerSelector {
	latency := &serverselector.Latency{Latency: defaultLocalThreshold}
	if test.Operation == "write" {
		return &serverselector.Composite{Selectors: []description.ServerSelector{&serverselector.Write{}, latency}}
	}
	mode, err := readpref.ModeFromString(test.ReadPreference.Mode)
	require.NoError(t, err)
	rp := readpref.Primary()
	if mode != readpref.PrimaryMode {
		rp, err = readpref.New(mode, readpref.WithTagSets(tag.NewTagSetsFromMaps(test.ReadPreference.TagSets)...))
		require.NoError(t, err)
	}
	return &serverselector.Composite{Selectors: []description.ServerSelector{&serverselector.ReadPref{ReadPref: rp}, latency}}
}

// TestDeprioritizedServerSelectionSpec runs the logic tests that have deprioritized servers. They are part of the
// specifications' revision of 2026-03-12.
func TestDeprioritizedServerSelectionSpec(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(spectest.Path("server-selection/tests/server_selection"), "*", "*", "Deprioritized*.json"))
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("the specification tests are not at hand: set PROJECT_DIRECTORY to a folder with testdata/specifications")
	}
	kinds := map[string]description.TopologyKind{
		"ReplicaSetNoPrimary":   description.TopologyKindReplicaSetNoPrimary,
		"ReplicaSetWithPrimary": description.TopologyKindReplicaSetWithPrimary,
		"Sharded":               description.TopologyKindSharded,
		"Single":                description.TopologyKindSingle,
	}

	for _, file := range files {
		dir, name := filepath.Split(file)
		t.Run(filepath.Join(filepath.Base(filepath.Dir(filepath.Dir(dir))), filepath.Base(dir), name), func(t *testing.T) {
			content, err := os.ReadFile(file)
			require.NoError(t, err)
			var test selectionTest
			require.NoError(t, bson.UnmarshalExtJSON(content, false, &test))
			require.NotEmpty(t, test.Deprioritized)

			kind, ok := kinds[test.Topology.Type]
			require.True(t, ok, "unknown topology type %q", test.Topology.Type)
			servers := descriptions(test.Topology.Servers)
			selector := &opServerSelector{selector: test.selector(t), deprioritizedServers: descriptions(test.Deprioritized)}
			selected, err := selector.SelectServer(description.Topology{Kind: kind, Servers: servers}, servers)
			require.NoError(t, err)

			assert.ElementsMatch(t, addresses(descriptions(test.InWindow)), addresses(selected))
		})
	}
}

func addresses(servers []description.Server) (addrs []address.Address) {
	for _, server := range servers {
		addrs = append(addrs, server.Addr)
	}
	return addrs
}

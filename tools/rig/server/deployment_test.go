//go:build unix

package server

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseTopology(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Topology{
		"standalone":   {standalone, 1},
		"replicaset:3": {replicaSet, 3},
		"sharded:2":    {sharded, 2},
	} {
		got, err := ParseTopology(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got)
	}
	for _, text := range []string{"", "replicaset", "standalone:1", "sharded:0", "sharded:8", "replicaset:three", "loadbalanced:1"} {
		_, err := ParseTopology(text)
		require.ErrorContains(t, err, "topology \""+text+"\"")
	}
}

func TestOpenForm(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		topology string
		mongods  int // how many are started
		// clients matches the URI, in which every server is an A.
		clients string
	}{
		{"standalone", 1, "mongodb://A/"},
		{"replicaset:3", 3, "mongodb://A,A,A/?replicaSet=rig"},
		{"sharded:2", 2, "mongodb://A,A/"},
	} {
		t.Run(tt.topology, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t).install("mongod", "mongod", fakeVersion+"=8.0.4").install("mongos", "mongos", fakeVersion+"=8.0.4")
			topology, err := ParseTopology(tt.topology)
			require.NoError(t, err)
			server, err := OpenForm(t.Context(), m.Config, Form{Topology: topology})
			require.NoError(t, err)
			assert.Equal(t, "8.0.4", server.Version)
			assert.Len(t, started(m, "mongod"), tt.mongods)

			uri := server.URI
			for _, call := range append(started(m, "mongod"), started(m, "mongos")...) {
				uri = strings.Replace(uri, "127.0.0.1:"+valueOf(strings.Fields(call), "--port"), "A", 1)
				assert.Contains(t, call, "--setParameter enableTestCommands=1")
			}
			assert.Equal(t, tt.clients, uri)
			require.NoError(t, server.Close())
			requireEmpty(t, m.TempDir)
		})
	}
}

// A sharded cluster is put together as the server's manual says.
func TestOpenFormConfiguresACluster(t *testing.T) {
	t.Parallel()
	m := newMachine(t).install("mongod", "mongod", fakeVersion+"=8.2.0").install("mongos", "mongos", fakeVersion+"=8.2.0")
	server, err := OpenForm(t.Context(), m.Config, Form{Topology: Topology{sharded, 1}})
	require.NoError(t, err)
	defer server.Close()

	address := func(call string) string { return "127.0.0.1:" + valueOf(strings.Fields(call), "--port") }
	servers, routers := started(m, "mongod"), started(m, "mongos")
	require.Len(t, servers, 2)
	require.Len(t, routers, 1)
	config, shard := servers[0], servers[1]
	assert.Regexp(t, "--replSet config .*--configsvr", config)
	assert.Regexp(t, "--replSet shard .*--shardsvr", shard)
	assert.Contains(t, routers[0], "--configdb config/"+address(config))

	initiated := strings.Join(m.recorded("mongod"), "\n")
	assert.Contains(t, initiated, `"configsvr":true`)
	assert.Contains(t, initiated, `"host":"`+address(shard)+`"`)
	assert.Contains(t, strings.Join(m.recorded("mongos"), "\n"), `"addShard":"shard/`+address(shard)+`"`)
}

func TestOpenFormFails(t *testing.T) {
	t.Parallel()
	t.Run("no mongos", func(t *testing.T) {
		t.Parallel()
		m := newMachine(t).install("mongod", "mongod", fakeVersion+"=8.2.0")
		_, err := OpenForm(t.Context(), m.Config, Form{Topology: Topology{sharded, 1}})
		require.ErrorIs(t, err, ErrUnavailable)
		require.ErrorContains(t, err, "no mongos on the PATH")
		assert.Empty(t, m.recorded("mongod"))
		requireEmpty(t, m.TempDir)
	})
	t.Run("mongod does not listen", func(t *testing.T) {
		t.Parallel()
		m := newMachine(t).install("mongod", "mongod", fakeFault+"=dies")
		m.StartTimeout = time.Second
		_, err := OpenForm(t.Context(), m.Config, Form{Topology: Topology{replicaSet, 1}})
		require.ErrorContains(t, err, "member 1 of 1 (127.0.0.1:")
		require.ErrorContains(t, err, "ended by itself (exit status 3): the data directory is on fire; its log is ")
		assert.NotContains(t, err.Error(), "\n")
		requireEmpty(t, m.TempDir)
	})
}

// started returns the command lines of a role, without what it was told to do.
func started(m *machine, role string) []string {
	var lines []string
	for _, call := range m.recorded(role) {
		if strings.HasPrefix(call, "--") {
			lines = append(lines, call)
		}
	}
	return lines
}

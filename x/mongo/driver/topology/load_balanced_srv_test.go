package topology

import (
	"context"
	"net"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/dns"
)

// resolve lets all lookups of the test find these hosts and options, and returns how many lookups of hosts there were.
func resolve(t *testing.T, txt string, hosts ...string) *int {
	t.Helper()
	lookups, before := new(int), *dns.DefaultResolver
	t.Cleanup(func() { *dns.DefaultResolver = before })
	*dns.DefaultResolver = dns.Resolver{
		LookupSRV: func(string, string, string) (string, []*net.SRV, error) {
			*lookups++
			var records []*net.SRV
			for _, host := range hosts {
				records = append(records, &net.SRV{Target: host + ".example.com.", Port: 27017})
			}
			return "", records, nil
		},
		LookupTXT: func(string) ([]string, error) {
			if txt == "" {
				return nil, nil
			}
			return []string{txt}, nil
		},
	}
	return lookups
}

// TestLoadBalancedSRV is about the option loadBalanced of names that are resolved: a TXT record may have it, and it is checked with the
// hosts that were found (load-balancers.md, "URI Validation" and "DNS Seedlist Discovery").
func TestLoadBalancedSRV(t *testing.T) {
	for _, tt := range []struct {
		name, query, txt string
		hosts            []string
		fails            string
	}{
		{name: "in the URI", query: "loadBalanced=true", hosts: []string{"a"}},
		{name: "in the URI, two hosts", query: "loadBalanced=true", hosts: []string{"a", "b"}, fails: "multiple hosts"},
		{name: "in the TXT record", txt: "loadBalanced=true", hosts: []string{"a"}},
		{name: "in the TXT record, two hosts", txt: "loadBalanced=true", hosts: []string{"a", "b"}, fails: "multiple hosts"},
		{name: "in the TXT record, replicaSet there", txt: "loadBalanced=true&replicaSet=rs", hosts: []string{"a"}, fails: "replica set"},
		{name: "in the TXT record, replicaSet in the URI", query: "replicaSet=rs", txt: "loadBalanced=true", hosts: []string{"a"},
			fails: "replica set"},
		{name: "in the TXT record, srvMaxHosts", query: "srvMaxHosts=1", txt: "loadBalanced=true", hosts: []string{"a"}, fails: "srvMaxHosts"},
	} {
		lookups := resolve(t, tt.txt, tt.hosts...)
		cs, err := connstring.ParseAndValidate("mongodb+srv://cluster.example.com/?" + tt.query)
		assert.Equal(t, 1, *lookups, tt.name)
		if tt.fails != "" {
			assert.ErrorContains(t, err, tt.fails, tt.name)
			continue
		}
		require.NoError(t, err, tt.name)
		assert.True(t, cs.LoadBalanced, tt.name)
		assert.Equal(t, []string{"a.example.com:27017"}, cs.Hosts, tt.name)
	}
}

// TestLoadBalancedSRVIsNotPolled is about the SRV record of a load balancer: nobody looks for changes of it (load-balancers.md, "DNS
// Seedlist Discovery").
func TestLoadBalancedSRVIsNotPolled(t *testing.T) {
	for txt, polls := range map[string]bool{"": true, "loadBalanced=true": false} {
		resolve(t, txt, "a")
		topology := newTopology(t, options.Client().ApplyURI("mongodb+srv://cluster.example.com/?tls=false"))
		assert.Equal(t, polls, topology.pollingRequired, "TXT record %q", txt)
		if !polls {
			require.NoError(t, topology.Connect())
			require.NoError(t, topology.Disconnect(context.Background()))
		}
	}
}

// noted are the messages of a log.
type noted struct{ messages []string }

func (n *noted) Info(_ int, message string, _ ...any) { n.messages = append(n.messages, message) }
func (n *noted) Error(error, string, ...any)          {}

// TestLoadBalancedTopologyLog is about what is logged of a topology behind a load balancer (load-balancers.md, "Log Messages").
func TestLoadBalancedTopologyLog(t *testing.T) {
	log := new(noted)
	topology := newTopology(t, options.Client().ApplyURI("mongodb://127.0.0.1:1/?loadBalanced=true").SetLoggerOptions(
		options.Logger().SetSink(log).SetComponentLevel(options.LogComponentTopology, options.LogLevelDebug)))
	require.NoError(t, topology.Connect())
	require.NoError(t, topology.Disconnect(context.Background()))
	assert.Equal(t, []string{
		"Starting topology monitoring", "Topology description changed", "Starting server monitoring", "Topology description changed",
		"Stopped server monitoring", "Topology description changed", "Stopped topology monitoring",
	}, log.messages)
}

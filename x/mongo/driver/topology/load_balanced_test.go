package topology

import (
	"context"
	"io"
	"net"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/dns"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
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

// TestLoadBalancedTopologyEvents is about what is published of a topology behind a load balancer, from its beginning to its end: it starts
// as LoadBalanced, and no heartbeat is sent (load-balancers.md, "Monitoring").
func TestLoadBalancedTopologyEvents(t *testing.T) {
	var seen []string
	note := func(what string) { seen = append(seen, what) }
	monitor := &event.ServerMonitor{
		TopologyOpening: func(*event.TopologyOpeningEvent) { note("topology opening") },
		ServerOpening:   func(*event.ServerOpeningEvent) { note("server opening") },
		TopologyDescriptionChanged: func(e *event.TopologyDescriptionChangedEvent) {
			for _, d := range []event.TopologyDescription{e.PreviousDescription, e.NewDescription} {
				what := d.Kind
				for _, server := range d.Servers {
					what += " with " + server.Kind
				}
				note(what)
			}
		},
		ServerDescriptionChanged: func(e *event.ServerDescriptionChangedEvent) {
			note("server " + e.PreviousDescription.Kind)
			note("server " + e.NewDescription.Kind)
		},
		ServerClosed:           func(*event.ServerClosedEvent) { note("server closed") },
		TopologyClosed:         func(*event.TopologyClosedEvent) { note("topology closed") },
		ServerHeartbeatStarted: func(*event.ServerHeartbeatStartedEvent) { note("heartbeat") },
	}
	comesAndGoes(t, options.Client().SetServerMonitor(monitor))
	assert.Equal(t, []string{
		"topology opening", "Unknown", "LoadBalanced with Unknown",
		"server opening", "server Unknown", "server LoadBalancer", "LoadBalanced with Unknown", "LoadBalanced with LoadBalancer",
		"server closed", "LoadBalanced with LoadBalancer", "Unknown", "topology closed",
	}, seen)
}

// TestLoadBalancedTopologyLog is about what is logged of it (load-balancers.md, "Log Messages").
func TestLoadBalancedTopologyLog(t *testing.T) {
	log := new(scripted.Log)
	sink := options.Logger().SetSink(log).SetComponentLevel(options.LogComponentTopology, options.LogLevelDebug)
	comesAndGoes(t, options.Client().SetLoggerOptions(sink))
	assert.Equal(t, []string{
		"1 Starting topology monitoring", "1 Topology description changed", "1 Starting server monitoring",
		"1 Topology description changed", "1 Stopped server monitoring", "1 Topology description changed", "1 Stopped topology monitoring",
	}, log.Lines)
}

// comesAndGoes connects and disconnects a topology behind a load balancer.
func comesAndGoes(t *testing.T, opts *options.ClientOptions) {
	topology := newTopology(t, opts.ApplyURI("mongodb://127.0.0.1:1/?loadBalanced=true"))
	require.NoError(t, topology.Connect())
	require.NoError(t, topology.Disconnect(context.Background()))
}

// TestErrorsBehindALoadBalancerChangeNothing is about errors after which a server would become Unknown: a load balancer does not, and only
// connections to the service are closed (load-balancers.md, "Error Handling").
func TestErrorsBehindALoadBalancerChangeNothing(t *testing.T) {
	for name, failure := range map[string]error{
		"not primary":   driver.Error{Code: 10107, Name: "NotWritablePrimary"},
		"shutting down": driver.Error{Code: 91, Name: "ShutdownInProgress"},
		"write concern": driver.WriteCommandError{WriteConcernError: &driver.WriteConcernError{Code: 91, Name: "ShutdownInProgress"}},
		"network":       driver.Error{Labels: []string{driver.NetworkError}, Wrapped: ConnectionError{Wrapped: io.EOF}},
	} {
		server := NewServer("a", bson.NewObjectID(), defaultConnectionTimeout, WithServerLoadBalanced(func(bool) bool { return true }))
		require.NoError(t, server.Connect(nil))
		before := server.Description()
		services := []bson.ObjectID{bson.NewObjectID(), bson.NewObjectID()}
		for i := range services {
			server.pool.generation.addConnection(&services[i])
		}
		server.ProcessError(failure, describer{desc: description.Server{Kind: description.ServerKindLoadBalancer, ServiceID: &services[0]}})
		assert.Equal(t, before, server.Description(), name)
		for i, want := range []uint64{1, 0} {
			generation, _ := server.pool.generation.getGeneration(&services[i])
			assert.Equal(t, want, generation, "%s: service %d", name, i)
		}
		require.NoError(t, server.Disconnect(context.Background()))
	}
}

// describer is a connection to a service.
type describer struct {
	mnet.Describer
	desc description.Server
}

func (d describer) Description() description.Server { return d.desc }
func (describer) Stale() bool                       { return false }

package driver_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/internal/serverselector"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/tag"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

const (
	maxStaleness    = 90 * time.Second
	heartbeats      = 10 * time.Second
	localThreshold  = 15 * time.Millisecond
	overloadRetries = 5
)

// rejecting is a deployment whose servers all reject everything. Each attempt must find those servers suitable that the specification
// says; it goes to another of them each time.
type rejecting struct {
	*scripted.Script
	seen []map[address.Address]bool // what each attempt found
}

func addressesOf(servers []description.Server) map[address.Address]bool {
	addrs := map[address.Address]bool{}
	for _, server := range servers {
		addrs[server.Addr] = true
	}
	return addrs
}

var errNoneSuitable = errors.New("no server is suitable")

func (r *rejecting) SelectServer(ctx context.Context, selector description.ServerSelector) (driver.Server, error) {
	suitable, err := selector.SelectServer(description.Topology{Kind: r.Topology, Servers: r.Servers}, r.Servers)
	if err != nil {
		return nil, err
	}
	r.seen = append(r.seen, addressesOf(suitable))
	if len(suitable) == 0 {
		r.Replies = nil
		return nil, errNoneSuitable
	}
	one := suitable[len(r.seen)%len(suitable)]
	return r.Script.SelectServer(ctx, serverselector.Func(func(description.Topology, []description.Server) ([]description.Server, error) {
		return []description.Server{one}, nil
	}))
}

// TestPreviouslyUsedServersAreAvoided lets all members of all small deployments reject a read, for each read preference. An attempt goes
// to members that were not used before, if one of them is suitable, else to any that is: also to the primary, where it is only the second
// choice (client-backpressure.md, "Overload retry policy", rule 4; server-selection.md, "Server Selection Algorithm").
func TestPreviouslyUsedServersAreAvoided(t *testing.T) {
	avoidEverywhere(t, append(readPreferences(t), readpref.Primary()))
}

func avoidEverywhere(t *testing.T, preferences []*readpref.ReadPref) {
	for _, rp := range preferences {
		for _, members := range replicaSets() {
			avoidEach(t, replicaSetKind(members), members, rp)
		}
		router, standalone := description.ServerKindMongos, description.ServerKindStandalone
		avoidEach(t, description.TopologyKindSharded, []description.Server{member("a", router, "", 0), member("b", router, "", 0)}, rp)
		avoidEach(t, description.TopologyKindSingle, []description.Server{member("a", standalone, "", 0)}, rp)
	}
}

// avoidEach compares each attempt of a read that all servers reject with what it may go to.
func avoidEach(t *testing.T, kind description.TopologyKind, members []description.Server, rp *readpref.ReadPref) {
	t.Helper()
	s := scripted.New(t, scripted.Repeat(overloadRetries+1, scripted.Overloaded())...)
	s.Topology, s.Servers = kind, members
	s.Policy.MaxRetries = overloadRetries
	deployment := &rejecting{Script: s}
	op := s.Read()
	op.Deployment, op.ReadPreference = deployment, rp
	require.Error(t, s.Execute(context.Background(), op))

	all := choose(t, kind, members, rp, nil)
	attempts := overloadRetries + 1
	if len(all) == 0 {
		attempts = 1
	}
	require.Len(t, deployment.seen, attempts, "attempts of a read with %v at %v", rp, members)
	avoided := map[address.Address]bool{}
	for attempt, found := range deployment.seen {
		want := choose(t, kind, members, rp, avoided)
		if len(want) == 0 {
			want = all
		}
		if !assert.Equal(t, want, found, "attempt %d of a read with %v at %v", attempt, rp, members) {
			return
		}
		if attempt < len(s.Selected) {
			avoided[s.Selected[attempt]] = true
		}
	}
}

// choose returns those of the members, but for some that are avoided, to which a read may go. Which of them are too stale depends on the
// others, too, so that they are left out before.
func choose(
	t *testing.T, kind description.TopologyKind, members []description.Server, rp *readpref.ReadPref, avoided map[address.Address]bool,
) map[address.Address]bool {
	var candidates []description.Server
	for _, m := range members {
		if !avoided[m.Addr] && (m.Kind != description.ServerKindRSSecondary || freshEnough(rp, members, m)) {
			candidates = append(candidates, m)
		}
	}
	unlimited, err := rp, error(nil)
	if _, limited := rp.MaxStaleness(); limited {
		unlimited, err = readpref.New(rp.Mode(), readpref.WithTagSets(rp.TagSets()...))
		require.NoError(t, err)
	}
	selector := &serverselector.Composite{Selectors: []description.ServerSelector{
		&serverselector.ReadPref{ReadPref: unlimited}, &serverselector.Latency{Latency: localThreshold},
	}}
	suitable, err := selector.SelectServer(description.Topology{Kind: kind, Servers: members}, candidates)
	require.NoError(t, err)
	return addressesOf(suitable)
}

// replicaSets returns all replica sets of a primary, or none, in each of two datacenters, and up to three secondaries in one of them, too,
// that are fresh or stale. The third secondary is far away.
func replicaSets() [][]description.Server {
	var sets [][]description.Server
	for _, primary := range [][]description.Server{
		{},
		{member("p", description.ServerKindRSPrimary, "ny", 0)},
		{member("p", description.ServerKindRSPrimary, "sf", 0)},
	} {
		level := [][]description.Server{primary}
		sets = append(sets, primary)
		for _, host := range []string{"a", "b", "c"} {
			var next [][]description.Server
			for _, members := range level {
				for _, dc := range []string{"ny", "sf"} {
					for _, lag := range []time.Duration{time.Second, time.Hour} {
						one := member(host, description.ServerKindRSSecondary, dc, lag)
						if host == "c" {
							one.AverageRTT = time.Second
						}
						next = append(next, append(members[:len(members):len(members)], one))
					}
				}
			}
			sets, level = append(sets, next...), next
		}
	}
	return sets
}

// checked is when the members were checked: all of them wrote something since 1970.
var checked = time.Unix(2000000000, 0)

func member(host string, kind description.ServerKind, dc string, lag time.Duration) description.Server {
	m := scripted.Server(host, kind)
	m.AverageRTTSet, m.HeartbeatInterval = true, heartbeats
	m.LastUpdateTime, m.LastWriteTime = checked, checked.Add(-lag)
	m.Tags = tag.Set{{Name: "dc", Value: dc}}
	return m
}

func replicaSetKind(members []description.Server) description.TopologyKind {
	for _, m := range members {
		if m.Kind == description.ServerKindRSPrimary {
			return description.TopologyKindReplicaSetWithPrimary
		}
	}
	return description.TopologyKindReplicaSetNoPrimary
}

// readPreferences returns the read preferences of all modes that may use secondaries, with these options.
func readPreferences(t *testing.T, options ...readpref.Option) (all []*readpref.ReadPref) {
	for _, mode := range []readpref.Mode{
		readpref.PrimaryPreferredMode, readpref.SecondaryMode, readpref.SecondaryPreferredMode, readpref.NearestMode,
	} {
		for _, sets := range [][]tag.Set{nil, {inDatacenter("ny")}, {inDatacenter("ny"), {}}} {
			with := options
			if sets != nil {
				with = append(with[:len(with):len(with)], readpref.WithTagSets(sets...))
			}
			rp, err := readpref.New(mode, with...)
			require.NoError(t, err)
			all = append(all, rp)
		}
	}
	return all
}

func inDatacenter(dc string) tag.Set { return tag.Set{{Name: "dc", Value: dc}} }

// freshEnough is max-staleness.md's two formulas.
func freshEnough(rp *readpref.ReadPref, members []description.Server, s description.Server) bool {
	limit, limited := rp.MaxStaleness()
	if !limited {
		return true
	}
	var newest time.Time
	for _, m := range members {
		if m.Kind == description.ServerKindRSPrimary {
			staleness := s.LastUpdateTime.Sub(s.LastWriteTime) - m.LastUpdateTime.Sub(m.LastWriteTime) + heartbeats
			return staleness <= limit
		}
		if m.LastWriteTime.After(newest) {
			newest = m.LastWriteTime
		}
	}
	return newest.Sub(s.LastWriteTime)+heartbeats <= limit
}

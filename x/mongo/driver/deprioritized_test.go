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
	deployments := 0
	for _, members := range replicaSets() {
		for _, rp := range preferences {
			deployments++
			avoidEach(t, replicaSetKind(members), members, rp, func(candidates []description.Server) []description.Server {
				return selectByReadPreference(rp, members, candidates)
			})
		}
	}
	all := func(candidates []description.Server) []description.Server { return candidates }
	for kind, server := range map[description.TopologyKind]description.ServerKind{
		description.TopologyKindSharded: description.ServerKindMongos,
		description.TopologyKindSingle:  description.ServerKindStandalone,
	} {
		for _, rp := range preferences {
			members := []description.Server{member("a", server, "", 0), member("b", server, "", 0)}
			if kind == description.TopologyKindSingle {
				members = members[:1]
			}
			avoidEach(t, kind, members, rp, all)
		}
	}
	assert.Equal(t, 3*85*len(preferences), deployments)
}

// chooser returns those of the candidates that a command may go to.
type chooser func(candidates []description.Server) []description.Server

// avoidEach compares each attempt of a read that all servers reject with what it may go to.
func avoidEach(
	t *testing.T, kind description.TopologyKind, members []description.Server, rp *readpref.ReadPref, choose chooser,
) {
	t.Helper()
	s := scripted.New(t, scripted.Repeat(overloadRetries+1, scripted.Overloaded())...)
	s.Topology, s.Servers = kind, members
	s.Policy.MaxRetries = overloadRetries
	deployment := &rejecting{Script: s}
	op := s.Read()
	op.Deployment, op.ReadPreference = deployment, rp
	require.Error(t, s.Execute(context.Background(), op))

	attempts := overloadRetries + 1
	if len(choose(members)) == 0 {
		attempts = 1
	}
	require.Len(t, deployment.seen, attempts, "attempts of a read with %v at %v", rp, members)
	avoided := map[address.Address]bool{}
	for attempt, found := range deployment.seen {
		var others []description.Server
		for _, m := range members {
			if !avoided[m.Addr] {
				others = append(others, m)
			}
		}
		want := choose(others)
		if len(want) == 0 {
			want = choose(members)
		}
		wanted := addressesOf(want)
		if !assert.Equal(t, wanted, found, "attempt %d of a read with %v at %v", attempt, rp, members) {
			return
		}
		if attempt < len(s.Selected) {
			avoided[s.Selected[attempt]] = true
		}
	}
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

// selectByReadPreference is server-selection.md's "Filter suitable servers", and the latency window, in the specification's words.
func selectByReadPreference(rp *readpref.ReadPref, members, candidates []description.Server) []description.Server {
	var primary, secondaries []description.Server
	for _, m := range candidates {
		switch {
		case m.Kind == description.ServerKindRSPrimary:
			primary = append(primary, m)
		case freshEnough(rp, members, m):
			secondaries = append(secondaries, m)
		}
	}
	or := func(first, second []description.Server) []description.Server {
		if len(first) > 0 {
			return first
		}
		return second
	}
	switch rp.Mode() {
	case readpref.PrimaryMode:
		return primary
	case readpref.PrimaryPreferredMode:
		return or(primary, inWindow(eligible(rp, secondaries)))
	case readpref.SecondaryMode:
		return inWindow(eligible(rp, secondaries))
	case readpref.SecondaryPreferredMode:
		return or(inWindow(eligible(rp, secondaries)), primary)
	default:
		return inWindow(eligible(rp, append(primary, secondaries...)))
	}
}

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

// eligible returns the servers that match the first tag set that any of them matches.
func eligible(rp *readpref.ReadPref, servers []description.Server) []description.Server {
	if len(rp.TagSets()) == 0 {
		return servers
	}
	for _, set := range rp.TagSets() {
		var matching []description.Server
		for _, server := range servers {
			if server.Tags.ContainsAll(set) {
				matching = append(matching, server)
			}
		}
		if len(matching) > 0 {
			return matching
		}
	}
	return nil
}

func inWindow(servers []description.Server) []description.Server {
	nearest := time.Hour
	for _, server := range servers {
		if server.AverageRTT < nearest {
			nearest = server.AverageRTT
		}
	}
	var within []description.Server
	for _, server := range servers {
		if server.AverageRTT <= nearest+localThreshold {
			within = append(within, server)
		}
	}
	return within
}

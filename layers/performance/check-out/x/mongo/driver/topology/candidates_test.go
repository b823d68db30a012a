package topology

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/serverselector"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// TestCandidates: unknown servers are none, and what a selector does to the candidates changes no description.
func TestCandidates(t *testing.T) {
	primary := description.Server{Addr: "a", Kind: description.ServerKindRSPrimary}
	secondary := description.Server{Addr: "b", Kind: description.ServerKindRSSecondary}
	unknown := description.Server{Addr: "c"}
	all := []description.Server{primary, secondary, unknown}
	for _, tt := range []struct{ servers, want []description.Server }{
		{all[:2], []description.Server{primary, secondary}},
		{all[:1], []description.Server{primary}},
		{all, []description.Server{primary, secondary}},
		{all[2:], []description.Server{}},
		{all[:0], []description.Server{}},
	} {
		got := candidates(tt.servers)
		assert.Equal(t, tt.want, got)
		for i := range got {
			got[i].Addr = "x"
		}
		_ = append(got, description.Server{Addr: "d"})
		assert.Equal(t, []description.Server{primary, secondary, unknown}, all)
	}
	assert.Equal(t, float64(1), testing.AllocsPerRun(10, func() { candidates(all[:2]) }))

	none := errors.New("none")
	failing := serverselector.Func(func(description.Topology, []description.Server) ([]description.Server, error) { return nil, none })
	_, err := (&Topology{}).selectServerFromDescription(description.Topology{Servers: all}, failing)
	assert.True(t, errors.Is(err, none), "got %v", err)
}

// TestRemovedServerStaysInFormerDescriptions: a selection may still read it, when SRV records no longer have it.
func TestRemovedServerStaysInFormerDescriptions(t *testing.T) {
	former := []description.Server{{Addr: "a"}, {Addr: "b"}, {Addr: "c"}}
	f := newFSM()
	f.Servers = former
	f.removeServer(1)
	assert.Equal(t, []description.Server{{Addr: "a"}, {Addr: "c"}}, f.Servers)
	assert.Equal(t, []description.Server{{Addr: "a"}, {Addr: "b"}, {Addr: "c"}}, former)
}

// selectors are the driver's, and those that an application may write.
var selectors = map[string]description.ServerSelector{
	"nearest":   &serverselector.ReadPref{ReadPref: readpref.Nearest()},
	"secondary": &serverselector.ReadPref{ReadPref: readpref.SecondaryPreferred()},
	"within 15 ms": &serverselector.Composite{Selectors: []description.ServerSelector{
		&serverselector.ReadPref{ReadPref: readpref.SecondaryPreferred()}, &serverselector.Latency{Latency: 15 * time.Millisecond},
	}},
	"sorts": serverselector.Func(func(_ description.Topology, list []description.Server) ([]description.Server, error) {
		sort.Slice(list, func(i, j int) bool { return list[i].Addr > list[j].Addr })
		return list, nil
	}),
	"overwrites": serverselector.Func(func(_ description.Topology, list []description.Server) ([]description.Server, error) {
		suitable := append([]description.Server{}, list...)
		for i := range list {
			list[i] = description.Server{Addr: "overwritten"}
		}
		return suitable, nil
	}),
}

// TestParallelSelections: while many goroutines select among equal servers, and heartbeats come, no description changes that was
// published, and at the end each server is still described and selected.
func TestParallelSelections(t *testing.T) {
	t.Parallel()
	two, three := []address.Address{"a:1", "b:1"}, []address.Address{"a:1", "b:1", "c:1"}
	kinds := map[string]struct {
		topology description.TopologyKind
		server   description.ServerKind
		hosts    []address.Address
	}{
		"two routers":           {description.TopologyKindSharded, description.ServerKindMongos, two},
		"three routers":         {description.TopologyKindSharded, description.ServerKindMongos, three},
		"set without a primary": {description.TopologyKindReplicaSetNoPrimary, description.ServerKindRSSecondary, two},
	}
	for name, kind := range kinds {
		for selects, selector := range selectors {
			kind, selector := kind, selector
			t.Run(name+", "+selects, func(t *testing.T) {
				t.Parallel()
				topo := newTopology(t, options.Client())
				know(topo, kind.topology, kind.server, kind.hosts...)
				selectInParallel(t, topo, selector)
			})
		}
	}
}

func selectInParallel(t *testing.T, topo *Topology, selector description.ServerSelector) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // ends a selection that finds no server
	defer cancel()
	first := topo.Description()
	before := fmt.Sprintf("%+v", first.Servers)
	heartbeats := append([]description.Server{}, first.Servers...)

	inParallel(33, 100, func(g, _ int) {
		if g > 0 {
			_, err := topo.SelectServer(ctx, selector)
			assert.NoError(t, err)
			return
		}
		for _, beat := range heartbeats {
			published := topo.Description().Servers
			was := fmt.Sprintf("%+v", published)
			topo.apply(ctx, beat)
			if is := fmt.Sprintf("%+v", published); is != was {
				t.Errorf("a published description changed from\n%s to\n%s", was, is)
			}
		}
	})

	assert.Equal(t, before, fmt.Sprintf("%+v", first.Servers))
	assert.Equal(t, before, fmt.Sprintf("%+v", topo.Description().Servers))
	selected := selections(t, topo, selector)
	assert.Len(t, selected, len(heartbeats), "%v", selected)
}

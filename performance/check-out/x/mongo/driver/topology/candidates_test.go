package topology

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// TestCandidates: unknown servers are none, and a selector that appends to the candidates changes no description.
func TestCandidates(t *testing.T) {
	primary := description.Server{Addr: "a", Kind: description.ServerKindRSPrimary}
	secondary := description.Server{Addr: "b", Kind: description.ServerKindRSSecondary}
	unknown := description.Server{Addr: "c"}
	all := []description.Server{primary, secondary, unknown}
	for _, tt := range []struct{ servers, want []description.Server }{
		{all[:2], []description.Server{primary, secondary}},
		{all, []description.Server{primary, secondary}},
		{all[2:], []description.Server{}},
		{all[:0], []description.Server{}},
	} {
		got := candidates(tt.servers)
		assert.Equal(t, tt.want, got)
		_ = append(got, description.Server{Addr: "d"})
		assert.Equal(t, unknown, all[2])
	}
	assert.Equal(t, float64(0), testing.AllocsPerRun(10, func() { candidates(all[:2]) }))
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

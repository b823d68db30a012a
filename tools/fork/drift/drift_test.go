package drift

import (
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/forktest"
)

func TestDrift(t *testing.T) {
	t.Parallel()
	_, matched := forktest.Plan(t, filetree.Tree{
		"pool/overlay.go": []byte(`package pool

import "context"

//fork:watch /event.Kind single Pool

// Get lends a connection. It does not wait until there is one.
//
//fork:replace its body changes
func (p *Pool) Get(ctx context.Context, name string) (int, error) { return 1, nil }

//fork:wrap only its comment changes, and upstreamPut is taken
func (p *Pool) Put(n int) { p.upstreamPut(n) }

//fork:wrap its signature changes
func Open(cfg Config) *Pool { return upstreamOpen(cfg) }

//fork:wrap it moves to another file
func retryable(err error) bool { return upstreamRetryable(err) }

//fork:replace it goes away, while package conn has one of that name
func taken() {}

//fork:extend upstream adds a field of this name
type Config struct {
	Retry bool
}

func backoff() {}

func free() {}
`),
	})
	against := func(version string) []Row {
		m, err := forktest.Versions(t).Module(t.Context(), forktest.Module, version)
		require.NoError(t, err)
		rows, err := Compare(matched, m)
		require.NoError(t, err)
		return rows
	}
	rows := against("v2.1.0")
	type summary struct{ subject, how, class, now string }
	var got []summary
	for _, r := range rows {
		got = append(got, summary{r.Subject, r.How, string(r.Class), r.Now})
		require.Equal(t, r.Class == Changed, r.Diff != "", r.Subject)
	}
	require.Equal(t, []summary{
		{"pool Pool.Get", "replace", "changed", "pool/pool.go:19"},
		{"pool Pool.Put", "wrap", "same", "pool/pool.go:24"},
		{"pool Pool.upstreamPut", "wrap", "collides", "pool/pool.go:34"},
		{"pool Open", "wrap", "changed", "pool/pool.go:30"},
		{"pool retryable", "wrap", "same", "pool/more.go:4"},
		{"pool taken", "replace", "gone", ""},
		{"pool Config", "extend", "changed", "pool/pool.go:7"},
		{"pool Config.Retry", "extend", "collides", "pool/pool.go:7"},
		{"event Kind", "watch", "same", "event/event.go:4"},
		{"pool single", "watch", "gone", ""},
		{"pool Pool", "watch", "same", "pool/pool.go:13"},
		{"pool backoff", "add", "collides", "pool/pool.go:32"},
		{"pool/overlay.go", "add", "collides", "pool/overlay.go"},
	}, got)
	for _, r := range against(forktest.Base) {
		require.False(t, r.Class.NeedsReview(), "%+v", r)
	}
}

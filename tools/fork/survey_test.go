package fork

import (
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/forktest"
)

func TestSurvey(t *testing.T) {
	t.Parallel()
	p := builtProject(t, filetree.Tree{"pool/ours.go": []byte(`package pool

import "context"

// Get lends a connection. It does not wait until there is one.
//
//fork:replace its body changes
func (p *Pool) Get(ctx context.Context, name string) (int, error) { return 1, nil }

func surveyed() {}
`)})
	source := p.Source.(forktest.Source)
	source["v1.9.0"], source["v2.0.1"], source["v2.2.0-rc1"] = source[forktest.Base], source[forktest.Base], source[forktest.Base]

	rows, err := p.Survey(t.Context())
	require.NoError(t, err)
	require.Equal(t, []SurveyRow{
		{Version: forktest.Base, Base: forktest.Base, Total: 1},
		{Version: "v2.0.1", Base: forktest.Base, Newest: true, Total: 1},
		{Version: "v2.1.0", Base: forktest.Base, Newest: true, Review: 1, Total: 1},
	}, rows)
	require.True(t, rows[0].Locked())

	newer := &Project{Root: p.Root, Base: "v2.1.0", Source: source}
	_, err = newer.NewLock(t.Context(), forktest.Module)
	require.NoError(t, err)
	rows, err = p.Survey(t.Context())
	require.NoError(t, err)
	require.Equal(t, SurveyRow{Version: "v2.0.1", Base: forktest.Base, Total: 1}, rows[1], "below a base")
	require.Equal(t, SurveyRow{Version: "v2.1.0", Base: "v2.1.0", Total: 1}, rows[2])
}

func TestSurveyWithoutBase(t *testing.T) {
	t.Parallel()
	_, err := (&Project{Root: t.TempDir(), Base: forktest.Base, Source: forktest.Versions(t)}).Survey(t.Context())
	require.ErrorContains(t, err, "no base has a lock")
}

func TestDriftOfAnUnknownVersion(t *testing.T) {
	t.Parallel()
	p := builtProject(t, overlayOf("func added() {}\n"))
	_, err := p.Drift(t.Context(), "v9.9.9")
	require.ErrorContains(t, err, "no version v9.9.9")
}

package drift

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/forktest"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
)

func TestDrift(t *testing.T) {
	t.Parallel()
	_, matched := forktest.Plan(t, filetree.Tree{
		"pool/overlay.go": []byte(`package pool

import "context"

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

//fork:replace it is in package conn
func taken() {}

//fork:extend upstream adds a field of this name
type Config struct {
	Retry bool
}

func backoff() {}

func free() int { return single }
`),
	})
	against := func(version string) *Report {
		m, err := forktest.Versions(t).Module(t.Context(), forktest.Module, version)
		require.NoError(t, err)
		report, err := Compare(t.Context(), matched, m, matched.Overlay)
		require.NoError(t, err)
		return report
	}
	report := against("v2.1.0")
	type summary struct{ subject, how, class, now string }
	var got []summary
	for _, r := range report.Rows {
		got = append(got, summary{r.Subject.String(), r.How, string(r.Class()), syntax.Places(r.Now)})
		require.Equal(t, r.Class() == Changed, r.Diff() != "", r.Subject)
	}
	require.Equal(t, []summary{
		{"pool Pool.Get", "replace", "changed", "pool/pool.go:19"},
		{"pool Pool.Put", "wrap", "same", "pool/pool.go:24"},
		{"pool Open", "wrap", "changed", "pool/pool.go:30"},
		{"pool retryable", "wrap", "same", "pool/more.go:4"},
		{"pool taken", "replace", "moved", "conn/taken.go:3"},
		{"pool Config", "extend", "changed", "pool/pool.go:7"},
		{"pool single", "use", "gone", ""},
		{"pool Pool", "use", "same", "pool/pool.go:13"},
		{"event Publish", "use", "same", "event/event.go:10"},
		{"event Returned", "use", "same", "event/event.go:7"},
		{"event Kind", "use", "same", "event/event.go:4"},
	}, got)
	require.True(t, report.Uncompiled)
	for _, taken := range []string{"backoff is new here, but upstream has it",
		"upstream has a file of this name"} {
		require.Contains(t, report.Misfits.Error(), taken)
	}
	unchanged := against(forktest.Base)
	for _, r := range unchanged.Rows {
		require.False(t, r.NeedsReview(), "%+v", r)
	}
	require.Empty(t, unchanged.Misfits)
	require.False(t, unchanged.Uncompiled)
}

// against compares a plan with the module that an edit makes of its own, for which the overlay is that of a repository.
func against(t *testing.T, root string, p *plan.Plan, edit func(filetree.Tree)) *Report {
	t.Helper()
	tree := maps.Clone(p.Module.Tree)
	edit(tree)
	target, err := upstream.New(p.Module.Path, "v2.2.0", tree)
	require.NoError(t, err)
	overlay, problems, err := plan.ReadOverlay(root, target)
	require.NoError(t, err)
	require.NoError(t, problems.OrNil())
	report, err := Compare(t.Context(), p, target, overlay)
	require.NoError(t, err)
	return report
}

// The files that are for the other version are laid over it and compiled, though no base has them, and though all that the base's
// files use is there as it was.
func TestFit(t *testing.T) {
	t.Parallel()
	const other = "//fork:base >=v2.2.0\n\npackage pool\n\n"
	for name, tc := range map[string]struct {
		file, change, want string
		uncompiled         bool
	}{
		"fits":                   {file: "func later(p *Pool) int { return p.used }\n"},
		"uses what is not there": {file: "func later(p *Pool) int { return p.free }\n", want: "pool/later.go:3: p.free undefined"},
		"touches what is not there": {file: "//fork:replace x\nfunc absent() {}\n", uncompiled: true,
			want: "pool/later.go:5: //fork:replace absent: upstream v2.2.0 has no such declaration in pool"},
		"is called otherwise": {file: "func later(p *Pool) int { return p.used }\n", change: "func calls() { retryable() }",
			want: "pool/calls.go:3: not enough arguments in call to retryable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, p := forktest.Plan(t, filetree.Tree{"pool/later.go": []byte(other + tc.file),
				"pool/overlay.go": []byte("package pool\n\n//fork:replace always\nfunc retryable(err error) bool { " +
					"return true }\n")})
			report := against(t, root, p, func(tree filetree.Tree) {
				tree["pool/calls.go"] = []byte("package pool\n\n" + tc.change + "\n")
			})
			for _, row := range report.Rows {
				require.False(t, row.NeedsReview(), row.Subject)
			}
			require.Equal(t, tc.uncompiled, report.Uncompiled)
			if tc.want == "" {
				require.Empty(t, report.Misfits)
				return
			}
			require.Len(t, report.Misfits, 1)
			require.Contains(t, report.Misfits.Error(), tc.want)
		})
	}
}

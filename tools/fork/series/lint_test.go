package series

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// fake returns a tree in which every program prints the same.
func fake(t *testing.T, output string) *workTree {
	return &workTree{ctx: t.Context(), opt: Check{Linter: "golangci-lint@v2", APIDiff: "apidiff@v1"},
		accepted: []AcceptedFinding{{File: "a/old.go", Text: "func old is unused", Reason: "it goes later"}},
		run: func(context.Context, string, []string, string, ...string) ([]byte, error) {
			return []byte(output), nil
		}}
}

func TestSeriesLint(t *testing.T) {
	t.Parallel()
	finding := func(file, text string) string {
		return `{"Issues":[{"FromLinter":"unused","Text":"` + text + `","Pos":{"Filename":"` + file + `","Line":3}}],"Report":{}}` + "\n"
	}
	require.NoError(t, fake(t, `{"Issues":[],"Report":{}}`).lint([]string{"./a"}))
	require.NoError(t, fake(t, finding("a/old.go", "func old is unused")).lint([]string{"./a"}))
	require.EqualError(t, fake(t, finding("a/b.go", "func h is unused")).lint([]string{"./a"}),
		"upstream's linters find: a/b.go: func h is unused (unused)")
	require.ErrorContains(t, fake(t, "no configuration").lint([]string{"./a"}), "read what golangci-lint found")
}

func TestSeriesAPI(t *testing.T) {
	t.Parallel()
	require.NoError(t, fake(t, "Ignoring internal package example.org/m/internal\n").compatible())
	require.ErrorContains(t, fake(t, "Incompatible changes:\n- B: removed\n").compatible(), "the exported API breaks")
	require.NoError(t, new(workTree).compatible())
}

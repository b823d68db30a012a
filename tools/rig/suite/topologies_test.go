package suite

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/gotest"
	"mongofork/tools/rig/report"
)

func TestTopologies(t *testing.T) {
	const file = "internal/integration/unified TestUnifiedSpec/crud/tests/a.json/"
	f := newFixture(t, func(tree string, c gotest.Command) []string {
		lab := strings.Join(c.Env, " ")
		if strings.Contains(c.Run, "TestProse") {
			return []string{"internal/integration/unified TestClientBackpressureSpec/client-backpressure/b.json/one passed"}
		}
		if !strings.Contains(lab, "MONGODB_URI=mongodb://lab") {
			return []string{file + "one passed", file + "two skipped needs shards", file + "three skipped needs more"}
		}
		if tree == "upstream" {
			return []string{file + "one passed", file + "two passed", file + "three skipped needs more"}
		}
		return []string{file + "one passed", file + "two failed wrong", file + "three skipped needs more"}
	})
	closed := 0
	f.OpenLab = func(_ context.Context, topology, backend string) (*Lab, error) {
		assert.Equal(t, "sharded:2", topology)
		assert.Equal(t, "mongodb://behind-lab", backend)
		return &Lab{Env: []string{"MONGODB_URI=mongodb://lab"}, Close: func() error { closed++; return nil }}, nil
	}

	suites := f.RunTopologies(t.Context(), []string{"server", "sharded:2"}, "")

	require.Len(t, suites, 2)
	assert.Equal(t, "2 passed, 0 failed, 2 skipped", counts(suites[0]))
	assert.Equal(t, "2 passed, 1 failed, 1 skipped", counts(suites[1]))
	assert.Contains(t, suites[1].Failures[0].Rerun, "make lab TOPOLOGY=sharded:2")
	assert.Equal(t, f.servers, f.closed, "every server is stopped")
	assert.NotZero(t, closed, "the lab is stopped")
	remarks := strings.Join(suites[1].Remarks, "\n")
	assert.Regexp(t, `\| crud +\| 1/0/2 +\| 1/0/2 +\| 2/0/1 +\| 1/1/1 +\|`, remarks)
	assert.Regexp(t, `\| client-backpressure \| - +\| 1/0/0 +\| - +\| 1/0/0 +\|`, remarks)
	assert.Contains(t, remarks, "cases that run on none of the topologies (1):\n     1  needs more")
}

func TestTopologiesWithoutAServer(t *testing.T) {
	f := newFixture(t, func(string, gotest.Command) []string { return nil })
	f.OpenBehindLab = func(context.Context) (*Server, error) { return nil, ErrUnavailable }
	suites := f.RunTopologies(t.Context(), []string{"standalone"}, "")
	assert.Equal(t, report.Totals{Skipped: 1}, report.Sum(suites))
}

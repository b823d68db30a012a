// Package dashboard holds a dashboard for Grafana to what the Prometheus adapter exports.
package dashboard

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// dashboard is what the tests read of Grafana's model.
type dashboard struct {
	Panels []struct {
		Title   string
		Targets []struct{ Expr string }
	}
}

// TestPanels checks that the panels show each metric that there is and none that there is not, by labels that it has.
func TestPanels(t *testing.T) {
	t.Parallel()
	exported := exportedMetrics(t)
	shown := map[string]bool{}
	content, err := os.ReadFile("dashboard.json")
	require.NoError(t, err)
	var d dashboard
	require.NoError(t, json.Unmarshal(content, &d))
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			used, err := metricsOf(target.Expr)
			require.NoError(t, err, panel.Title)
			require.NotEmpty(t, used, "%s: no metric in %s", panel.Title, target.Expr)
			for name, wanted := range used {
				shown[name] = true
				has, ok := exported[name]
				require.True(t, ok, "%s: the adapter has no %s", panel.Title, name)
				assert.Subset(t, has, wanted, "%s: labels of %s", panel.Title, name)
			}
		}
	}
	assert.Equal(t, slices.Sorted(maps.Keys(exported)), slices.Sorted(maps.Keys(shown)))
}

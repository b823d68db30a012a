package mongoprom_test

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	mongoprom "mongofork.internal/prometheus"
)

// TestDashboard checks that the dashboard shows each metric that there is, and none that there is not.
func TestDashboard(t *testing.T) {
	content, err := os.ReadFile("dashboard.json")
	require.NoError(t, err)
	var dashboard struct {
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(content, &dashboard))

	metric := regexp.MustCompile(`mongodb_driver_\w+`)
	shown := map[string]bool{}
	ids := map[int]bool{}
	for _, panel := range dashboard.Panels {
		assert.False(t, ids[panel.ID], "two panels have the ID %d", panel.ID)
		ids[panel.ID] = true
		assert.NotEmpty(t, panel.Targets, panel.Title)
		for _, target := range panel.Targets {
			names := metric.FindAllString(target.Expr, -1)
			assert.NotEmpty(t, names, "%s: no metric in %s", panel.Title, target.Expr)
			for _, name := range names {
				shown[name] = true
			}
		}
	}
	assert.Equal(t, exported(t), shown)
}

// exported returns the names of the collector's metrics, as queries name them.
func exported(t *testing.T) map[string]bool {
	collector := mongoprom.NewCollector(nil)
	publish(collector.Monitor())
	collector.ObserveTokens(func() (float64, bool) { return 0, true })
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(collector))
	families, err := registry.Gather()
	require.NoError(t, err)

	names := map[string]bool{}
	for _, family := range families {
		name := family.GetName()
		if family.GetMetric()[0].GetHistogram() != nil {
			name += "_bucket"
		}
		names[name] = true
	}
	return names
}

// Package dashboard holds a dashboard for Grafana to what the Prometheus adapter exports.
package dashboard

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// dashboard is what the tests read of Grafana's model.
type dashboard struct {
	Panels []struct {
		Title   string
		Targets []struct{ Expr, LegendFormat string }
	}
	Templating struct {
		List []struct{ Name, Type, Query string }
	}
}

func read(t *testing.T) dashboard {
	t.Helper()
	content, err := os.ReadFile("dashboard.json")
	require.NoError(t, err)
	var d dashboard
	require.NoError(t, json.Unmarshal(content, &d))
	require.NotEmpty(t, d.Panels)
	return d
}

// TestPanels checks that the panels show each metric that there is and none that there is not, by labels that it has.
func TestPanels(t *testing.T) {
	t.Parallel()
	exported := exportedMetrics(t)
	shown := map[string]bool{}
	for _, panel := range read(t).Panels {
		assert.NotEmpty(t, panel.Targets, "%s shows nothing", panel.Title)
		for _, target := range panel.Targets {
			used, err := metricsOf(target.Expr)
			require.NoError(t, err, panel.Title)
			require.NotEmpty(t, used, "%s: no metric in %s", panel.Title, target.Expr)
			for name, wanted := range used {
				shown[name] = true
				has, ok := exported[name]
				require.True(t, ok, "%s: the adapter has no %s", panel.Title, name)
				assert.Subset(t, has, wanted, "%s: labels of %s", panel.Title, name)
				assert.Subset(t, has, placeholders(target.LegendFormat), "%s: legend", panel.Title)
			}
		}
	}
	assert.Equal(t, slices.Sorted(maps.Keys(exported)), slices.Sorted(maps.Keys(shown)))
}

// TestVariables checks the queries that fill the dashboard's variables, and that each variable of a panel is one of them.
func TestVariables(t *testing.T) {
	t.Parallel()
	d := read(t)
	exported := exportedMetrics(t)
	known := []string{"__rate_interval"}
	for _, variable := range d.Templating.List {
		known = append(known, variable.Name)
		if variable.Type != "query" {
			continue
		}
		parts := regexp.MustCompile(`^label_values\((.+), (\w+)\)$`).FindStringSubmatch(variable.Query)
		require.NotNil(t, parts, "%s: %s", variable.Name, variable.Query)
		used, err := metricsOf(parts[1])
		require.NoError(t, err, variable.Name)
		for name, wanted := range used {
			assert.Subset(t, exported[name], append(wanted, parts[2]), "%s: labels of %s", variable.Name, name)
		}
	}
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			for _, used := range regexp.MustCompile(`\$(\w+)`).FindAllStringSubmatch(target.Expr, -1) {
				assert.Contains(t, known, used[1], panel.Title)
			}
		}
	}
}

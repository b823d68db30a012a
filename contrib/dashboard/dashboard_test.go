// Package dashboard holds a dashboard for Grafana to what the Prometheus adapter exports.
package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/event"

	mongoprom "mongofork.internal/prometheus"
)

// dashboard is what the tests read of Grafana's model.
type dashboard struct {
	Panels []struct {
		ID          int
		Title       string
		Type        string
		GridPos     struct{ X, Y, W, H int }
		FieldConfig struct{ Defaults struct{ Unit string } }
		Targets     []struct{ Expr, LegendFormat string }
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

// TestLayout checks what Grafana would show wrongly without a word.
func TestLayout(t *testing.T) {
	t.Parallel()
	units := []string{"cps", "ops", "s", "none", "percentunit"}
	ids, taken := map[int]string{}, map[[2]int]string{}
	for _, panel := range read(t).Panels {
		assert.Empty(t, ids[panel.ID], "%s has the ID of another panel", panel.Title)
		ids[panel.ID] = panel.Title
		assert.Equal(t, "timeseries", panel.Type, panel.Title)
		assert.Contains(t, units, panel.FieldConfig.Defaults.Unit, panel.Title)
		at := panel.GridPos
		require.True(t, at.W > 0 && at.H > 0 && at.X+at.W <= 24, "%s: Grafana's grid has 24 columns", panel.Title)
		for x := at.X; x < at.X+at.W; x++ {
			for y := at.Y; y < at.Y+at.H; y++ {
				require.Empty(t, taken[[2]int{x, y}], "%s lies over another panel", panel.Title)
				taken[[2]int{x, y}] = panel.Title
			}
		}
	}
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

// TestAlerts checks that the adapter's rules are rules, ask for metrics, labels and values that there are, and lead to the runbook.
func TestAlerts(t *testing.T) {
	t.Parallel()
	file, problems := rulefmt.ParseFile(filepath.Join("..", "prometheus", "alerts.yaml"), false, model.UTF8Validation)
	require.Empty(t, problems)
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "runbook.md"))
	require.NoError(t, err)
	var described []string
	for _, heading := range regexp.MustCompile(`(?m)^### (\w+)$`).FindAllStringSubmatch(string(page), -1) {
		described = append(described, heading[1])
	}
	var alerts []string
	exported, values := exportedMetrics(t), exportedValues(t)
	for _, rule := range file.Groups[0].Rules {
		alerts = append(alerts, rule.Alert)
		used, err := metricsOf(rule.Expr)
		require.NoError(t, err, rule.Alert)
		require.NotEmpty(t, used, rule.Alert)
		for name, wanted := range used {
			assert.Subset(t, exported[name], wanted, "%s: labels of %s", rule.Alert, name)
		}
		for _, matcher := range regexp.MustCompile(`\w+=~?"([^"]+)"`).FindAllStringSubmatch(rule.Expr, -1) {
			assert.Subset(t, values, strings.Split(matcher[1], "|"), rule.Alert)
		}
		assert.Contains(t, []string{"warning", "critical"}, rule.Labels["severity"], rule.Alert)
		assert.NotEmpty(t, rule.Annotations["summary"], rule.Alert)
		assert.Equal(t, "docs/runbook.md#"+strings.ToLower(rule.Alert), rule.Annotations["runbook_url"])
	}
	assert.Equal(t, alerts, described)
}

// exportedValues returns the label values of the series that are there from the start.
func exportedValues(t *testing.T) []string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	collector := mongoprom.NewCollector(nil)
	collector.CommandMonitor(nil)
	require.NoError(t, registry.Register(collector))
	families, err := registry.Gather()
	require.NoError(t, err)
	var values []string
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				values = append(values, label.GetValue())
			}
		}
	}
	return values
}

// TestMetricsOf keeps the checks above from passing for queries that say nothing.
func TestMetricsOf(t *testing.T) {
	t.Parallel()
	used, err := metricsOf(`sum by (verdict) (rate(a_total{job=~"$job"}[$__rate_interval]))`)
	require.NoError(t, err)
	assert.Equal(t, map[string][]string{"a_total": {"job", "verdict"}}, used)
	for _, wrong := range []string{"", "sum by (", `rate(a_total{job=~"$job"})`} {
		_, err := metricsOf(wrong)
		assert.Error(t, err, wrong)
	}
}

// metricsOf returns the metrics that a query selects, with the labels that it asks of all of them.
func metricsOf(query string) (map[string][]string, error) {
	expr, err := parser.ParseExpr(strings.ReplaceAll(query, "$__rate_interval", "5m"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	used := map[string][]string{}
	var grouping []string
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		switch node := node.(type) {
		case *parser.AggregateExpr:
			grouping = append(grouping, node.Grouping...)
		case *parser.VectorSelector:
			used[node.Name] = append([]string{}, used[node.Name]...)
			for _, matcher := range node.LabelMatchers {
				if matcher.Name != model.MetricNameLabel {
					used[node.Name] = append(used[node.Name], matcher.Name)
				}
			}
		}
		return nil
	})
	for name := range used {
		used[name] = append(used[name], grouping...)
	}
	return used, nil
}

// placeholders returns the labels in a legend such as "{{instance}} {{server}}".
func placeholders(legend string) []string {
	var found []string
	for _, match := range regexp.MustCompile(`{{\s*(\w+)\s*}}`).FindAllStringSubmatch(legend, -1) {
		found = append(found, match[1])
	}
	return found
}

// exportedMetrics returns the names of the adapter's metrics, as queries name them, with their labels and those that Prometheus adds.
func exportedMetrics(t *testing.T) map[string][]string {
	t.Helper()
	collector := mongoprom.NewCollector(prometheus.Labels{"client": "orders"})
	monitor, ctx := collector.Monitor(), context.Background()
	monitor.Decided(ctx, &event.RetryDecidedEvent{Attempt: 1, WillRetry: true, Backoff: time.Millisecond,
		Reason: event.RetryReasonOverloaded})
	monitor.Finished(ctx, &event.RetryFinishedEvent{Attempts: 2, Retries: 1, Failure: errors.New("overloaded")})
	collector.CommandMonitor(nil)
	collector.ObserveTokens(func() (float64, bool) { return 0, true })
	collector.ObserveThrottling(func() map[string]float64 { return map[string]float64{"a:27017": 0} })
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(collector))
	families, err := registry.Gather()
	require.NoError(t, err)

	metrics := map[string][]string{}
	for _, family := range families {
		name, has := family.GetName(), []string{"job", "instance"}
		for _, label := range family.GetMetric()[0].GetLabel() {
			has = append(has, label.GetName())
		}
		if family.GetMetric()[0].GetHistogram() != nil {
			name, has = name+"_bucket", append(has, "le")
		}
		metrics[name] = has
	}
	return metrics
}

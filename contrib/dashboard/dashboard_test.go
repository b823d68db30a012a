// Package dashboard holds a dashboard for Grafana, and the alerts, to what the Prometheus adapter exports and the pages say.
package dashboard

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	mongoprom "mongofork.internal/prometheus"
)

// assertExported checks that a query selects metrics that there are, by labels that they have, and returns them.
func assertExported(t *testing.T, query string) map[string]bool {
	t.Helper()
	expr, err := parser.ParseExpr(strings.ReplaceAll(query, "$__rate_interval", "5m"))
	require.NoError(t, err, query)
	used, wanted := map[string]bool{}, map[string][]string{}
	var grouping []string
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		switch node := node.(type) {
		case *parser.AggregateExpr:
			grouping = append(grouping, node.Grouping...)
		case *parser.VectorSelector:
			used[node.Name] = true
			for _, matcher := range node.LabelMatchers {
				if matcher.Name != model.MetricNameLabel {
					wanted[node.Name] = append(wanted[node.Name], matcher.Name)
				}
			}
		}
		return nil
	})
	assert.NotEmpty(t, used, query)
	exported := exportedMetrics(t)
	for name := range used {
		require.Contains(t, exported, name, query)
		assert.Subset(t, exported[name], slices.Concat(grouping, wanted[name]), query)
	}
	return used
}

// exportedMetrics returns the names of the adapter's metrics, as queries name them, with their labels and those that Prometheus adds.
func exportedMetrics(t *testing.T) map[string][]string {
	t.Helper()
	metrics := map[string][]string{}
	for _, family := range gather(t) {
		name, has := family.GetName(), []string{"job", "instance"}
		has = slices.AppendSeq(has, maps.Keys(labelsOf(family.GetMetric()[0])))
		if family.GetMetric()[0].GetHistogram() != nil {
			name, has = name+"_bucket", append(has, "le")
		}
		metrics[name] = has
	}
	return metrics
}

// fake is a client that has all that there is to observe.
type fake struct{}

func (fake) RetryTokens() (float64, bool) { return 0, true }

func (fake) ThrottleProbabilities() map[string]float64 { return map[string]float64{"a:27017": 0} }

// gather returns the metrics that are there from the start.
func gather(t *testing.T) []*dto.MetricFamily {
	t.Helper()
	collector := mongoprom.NewCollector(prometheus.Labels{"client": "orders"})
	collector.CommandMonitor(nil)
	collector.Observe(fake{})
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(collector))
	families, err := registry.Gather()
	require.NoError(t, err)
	return families
}

func labelsOf(metric *dto.Metric) map[string]string {
	labels := map[string]string{}
	for _, label := range metric.GetLabel() {
		labels[label.GetName()] = label.GetValue()
	}
	return labels
}

// matches returns the groups of a pattern where a file of the repository matches it.
func matches(t *testing.T, file, pattern string) [][]string {
	t.Helper()
	page, err := os.ReadFile("../../" + file)
	require.NoError(t, err)
	return regexp.MustCompile(pattern).FindAllStringSubmatch(string(page), -1)
}

// The panels show each metric that there is.
func TestPanels(t *testing.T) {
	content, err := os.ReadFile("dashboard.json")
	require.NoError(t, err)
	var d struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	require.NoError(t, json.Unmarshal(content, &d))
	shown := map[string]bool{}
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			maps.Copy(shown, assertExported(t, target.Expr))
		}
	}
	assert.ElementsMatch(t, slices.Collect(maps.Keys(exportedMetrics(t))), slices.Collect(maps.Keys(shown)))
}

// The alerts lead to the runbook, which describes just these.
func TestAlerts(t *testing.T) {
	file, problems := rulefmt.ParseFile("../prometheus/alerts.yaml", false, model.UTF8Validation)
	require.Empty(t, problems)
	var alerts, described []string
	for _, heading := range matches(t, "docs/runbook.md", `(?m)^### (\w+)$`) {
		described = append(described, heading[1])
	}
	for _, rule := range file.Groups[0].Rules {
		alerts = append(alerts, rule.Alert)
		assertExported(t, rule.Expr)
		assert.NotEmpty(t, rule.Labels["severity"], rule.Alert)
		assert.NotEmpty(t, rule.Annotations["summary"], rule.Alert)
		assert.Equal(t, "docs/runbook.md#"+strings.ToLower(rule.Alert), rule.Annotations["runbook_url"])
	}
	assert.Equal(t, alerts, described)
}

// The page names the driver's reasons, and the adapter starts with those verdicts that the page says. Ordinary errors are not counted.
func TestReasons(t *testing.T) {
	var reasons, documented, wanted, counted []string
	for _, file := range []string{"internal/retry/bucket", "internal/retry/verdict", "extras/events/event/retry", "extras/throttling/event/throttled"} {
		for _, found := range matches(t, file+".go", `Reason += "(\w+)"`) {
			reasons = append(reasons, found[1])
		}
	}
	for _, row := range matches(t, "docs/observability.md", "(?m)^\\| `(\\w+)` \\| (after a backoff|at once|no)(; no)?") {
		documented = append(documented, row[1])
		if row[2] != "no" {
			wanted = append(wanted, "retry "+row[1])
		}
		if (row[2] == "no" || row[3] != "") && row[1] != "notRetryable" {
			wanted = append(wanted, "refused "+row[1])
		}
	}
	for _, family := range gather(t) {
		for _, metric := range family.GetMetric() {
			has := labelsOf(metric)
			if family.GetName() == "mongodb_driver_retry_decisions_total" && has["criticality"] == "normal" {
				counted = append(counted, has["verdict"]+" "+has["reason"])
			}
		}
	}
	assert.Len(t, documented, 11)
	assert.ElementsMatch(t, reasons, documented)
	assert.ElementsMatch(t, wanted, counted)
}

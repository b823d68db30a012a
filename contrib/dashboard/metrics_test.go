package dashboard

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"

	mongoprom "mongofork.internal/prometheus"
)

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

// exportedMetrics returns the names of the adapter's metrics, as queries name them, with their labels and those that Prometheus adds.
func exportedMetrics(t *testing.T) map[string][]string {
	t.Helper()
	metrics := map[string][]string{}
	for _, family := range gather(t, prometheus.Labels{"client": "orders"}) {
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

// gather returns the metrics that are there from the start.
func gather(t *testing.T, labels prometheus.Labels) []*dto.MetricFamily {
	t.Helper()
	collector := mongoprom.NewCollector(labels)
	collector.CommandMonitor(nil)
	collector.ObserveTokens(func() (float64, bool) { return 0, true })
	collector.ObserveThrottling(func() map[string]float64 { return map[string]float64{"a:27017": 0} })
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(collector))
	families, err := registry.Gather()
	require.NoError(t, err)
	return families
}

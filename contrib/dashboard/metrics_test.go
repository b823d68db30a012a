package dashboard

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/event"

	mongoprom "mongofork.internal/prometheus"
)

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

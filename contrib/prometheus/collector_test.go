package mongoprom_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.yaml.in/yaml/v3"

	mongoprom "mongofork.internal/prometheus"
)

// fake is a client.
type fake struct {
	tokens        float64
	has           bool
	probabilities map[string]float64
}

func (f *fake) RetryTokens() (float64, bool) { return f.tokens, f.has }

func (f *fake) ThrottleProbabilities() map[string]float64 { return f.probabilities }

// collect returns the values of all series but the buckets, as the text format names them, and the names of
// the labels of each metric.
func collect(t *testing.T, collector *mongoprom.Collector) (values map[string]string, labels map[string][]string) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(collector))
	families, err := registry.Gather()
	require.NoError(t, err)
	var text strings.Builder
	for _, family := range families {
		_, err := expfmt.MetricFamilyToText(&text, family)
		require.NoError(t, err)
	}
	values, labels = map[string]string{}, map[string][]string{}
	for _, line := range matches(text.String(), `(?m)^(\w+)(\{.*\})? (.+)$`) {
		names := []string{"job", "instance"} // which Prometheus adds
		for _, label := range matches(line[2], `(\w+)=`) {
			names = append(names, label[1])
		}
		labels[line[1]] = names
		if !strings.HasSuffix(line[1], "_bucket") {
			values[line[1]+line[2]] = line[3]
		}
	}
	return values, labels
}

// nonzero returns the values that are not zero.
func nonzero(t *testing.T, collector *mongoprom.Collector) map[string]string {
	t.Helper()
	values, _ := collect(t, collector)
	maps.DeleteFunc(values, func(_, v string) bool { return v == "0" })
	return values
}

// publish publishes the events of a critical operation that is retried twice and then succeeds, of one that is refused a retry, and
// of one with an ordinary error.
func publish(monitor *event.RetryMonitor) {
	critical := event.CriticalityCritical
	for _, decision := range []event.RetryDecidedEvent{
		{Criticality: critical, Attempt: 1, WillRetry: true, Backoff: 30 * time.Millisecond, Reason: event.RetryReasonOverloaded},
		{Criticality: critical, Attempt: 2, WillRetry: true, Reason: event.RetryReasonRetryable},
		{Criticality: critical, Attempt: 1, Reason: event.RetryReasonBucketEmpty},
		{Attempt: 1, Reason: event.RetryReasonNotRetryable},
	} {
		monitor.Decided(context.Background(), &decision)
	}
	monitor.Finished(context.Background(), &event.RetryFinishedEvent{Criticality: critical, Attempts: 3, Retries: 2})
	monitor.Finished(context.Background(), &event.RetryFinishedEvent{Criticality: critical, Failure: errors.New("overloaded")})
}

// TestCollector: counters are there from the start. What gauges show is read when they are collected, if anything reads it and the client
// has it. Operations are counted by their outcome if the command monitor is used, whose next one hears everything.
func TestCollector(t *testing.T) {
	collector := mongoprom.NewCollector(prometheus.Labels{"client": "orders"})
	values, _ := collect(t, collector)
	assert.Len(t, values, 3*12+3*2+2, "of each class, each verdict with its reasons, and each outcome; and the sum and count of backoffs")
	assert.Empty(t, nonzero(t, collector))

	client := &fake{}
	collector.Observe(client)
	publish(collector.Monitor())
	want := map[string]string{
		`mongodb_driver_retry_decisions_total{client="orders",criticality="critical",reason="bucketEmpty",verdict="refused"}`: "1",
		`mongodb_driver_retry_decisions_total{client="orders",criticality="critical",reason="overloaded",verdict="retry"}`:    "1",
		`mongodb_driver_retry_decisions_total{client="orders",criticality="critical",reason="retryable",verdict="retry"}`:     "1",
		`mongodb_driver_retried_operations_total{client="orders",criticality="critical",outcome="failed"}`:                    "1",
		`mongodb_driver_retried_operations_total{client="orders",criticality="critical",outcome="succeeded"}`:                 "1",
		`mongodb_driver_retry_backoff_seconds_sum{client="orders"}`:                                                           "0.03",
		`mongodb_driver_retry_backoff_seconds_count{client="orders"}`:                                                         "1",
	}
	assert.Equal(t, want, nonzero(t, collector))

	*client = fake{998.5, true, map[string]float64{"b:27017": 0.5}}
	heard := ""
	monitor := collector.CommandMonitor(&event.CommandMonitor{
		Started:   func(context.Context, *event.CommandStartedEvent) { heard += "started " },
		Succeeded: func(context.Context, *event.CommandSucceededEvent) { heard += "succeeded " }})
	monitor.Started(context.Background(), nil)
	monitor.Succeeded(context.Background(), nil)
	assert.Equal(t, "started succeeded ", heard)
	collector.Monitor().Decided(context.Background(), &event.RetryDecidedEvent{Reason: event.RetryReasonNotRetryable})
	want[`mongodb_driver_operations_total{client="orders",outcome="failed"}`] = "1"
	want[`mongodb_driver_operations_total{client="orders",outcome="succeeded"}`] = "1"
	want[`mongodb_driver_retry_tokens{client="orders"}`] = "998.5"
	want[`mongodb_driver_throttle_probability{client="orders",server="b:27017"}`] = "0.5"
	assert.Equal(t, want, nonzero(t, collector))
	problems, err := testutil.CollectAndLint(collector)
	require.NoError(t, err)
	assert.Empty(t, problems)
}

// full returns a collector of a client that has all that there is.
func full() *mongoprom.Collector {
	collector := mongoprom.NewCollector(nil)
	collector.CommandMonitor(nil).Succeeded(context.Background(), nil)
	collector.Observe(&fake{has: true, probabilities: map[string]float64{"a:27017": 0}})
	return collector
}

// matches returns the groups of a pattern where a text matches it.
func matches(text, pattern string) [][]string {
	return regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1)
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile("../../" + file)
	require.NoError(t, err)
	return string(content)
}

// selected returns the metrics that a query selects, all of which there are, and have the labels that it names.
func selected(t *testing.T, query string) (names []string) {
	t.Helper()
	assert.Equal(t, strings.Count(query, "("), strings.Count(query, ")"), query)
	_, exported := collect(t, full())
	for _, selector := range matches(query, `(\w+_driver_\w+)(\{[^}]*\})?`) {
		name, labels := selector[1], matches(selector[2], `(\w+)[=!]`)
		require.Contains(t, exported, name, query)
		names = append(names, name)
		for _, grouping := range matches(query, `by ?\(([^)]+)\)`) {
			labels = append(labels, matches(grouping[1], `(\w+)`)...)
		}
		for _, label := range labels {
			assert.Contains(t, exported[name], label[1], query)
		}
	}
	require.NotEmpty(t, names, query)
	return names
}

// The panels show each metric that there is.
func TestPanels(t *testing.T) {
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "contrib/prometheus/dashboard.json")), &dashboard))
	var shown, exported []string
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			shown = append(shown, selected(t, target.Expr)...)
		}
	}
	_, labels := collect(t, full())
	for name := range labels {
		if !strings.HasSuffix(name, "_sum") && !strings.HasSuffix(name, "_count") {
			exported = append(exported, name)
		}
	}
	slices.Sort(shown)
	assert.ElementsMatch(t, exported, slices.Compact(shown))
}

// The alerts lead to the runbook, which describes just these.
func TestAlerts(t *testing.T) {
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	decoder := yaml.NewDecoder(strings.NewReader(read(t, "contrib/prometheus/alerts.yaml")))
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(&file))
	described := matches(read(t, "docs/runbook.md"), `(?m)^### (\w+)$`)
	require.Len(t, file.Groups[0].Rules, len(described))
	for i, rule := range file.Groups[0].Rules {
		assert.Equal(t, described[i][1], rule.Alert)
		selected(t, rule.Expr)
		assert.NotEmpty(t, rule.Labels["severity"], rule.Alert)
		assert.NotEmpty(t, rule.Annotations["summary"], rule.Alert)
		assert.Equal(t, "{{ $externalLabels.runbooks }}docs/runbook.md#"+strings.ToLower(rule.Alert), rule.Annotations["runbook_url"])
	}
	queries := matches(read(t, "docs/runbook.md"), "(?s)```promql\n(.*?)\n```")
	assert.NotEmpty(t, queries)
	for _, query := range queries {
		selected(t, query[1])
	}
}

// The page names the driver's reasons, and the adapter starts with those verdicts that the page says. Ordinary errors are not counted.
func TestReasons(t *testing.T) {
	var reasons, documented, wanted, counted []string
	for _, file := range []string{"internal/retry/bucket", "internal/retry/verdict", "layers/extras/events/event/retry"} {
		for _, found := range matches(read(t, file+".go"), `Reason += "(\w+)"`) {
			reasons = append(reasons, found[1])
		}
	}
	for _, row := range matches(read(t, "docs/observability.md"), "(?m)^\\| `(\\w+)` \\| (after a backoff|at once|no)(; no)?") {
		documented = append(documented, row[1])
		if row[2] != "no" {
			wanted = append(wanted, "retry "+row[1])
		}
		if (row[2] == "no" || row[3] != "") && row[1] != "notRetryable" {
			wanted = append(wanted, "refused "+row[1])
		}
	}
	values, _ := collect(t, full())
	for name := range values {
		for _, found := range matches(name, `criticality="normal",reason="(\w+)",verdict="(\w+)"`) {
			counted = append(counted, found[2]+" "+found[1])
		}
	}
	assert.Len(t, documented, 12)
	assert.ElementsMatch(t, reasons, documented)
	assert.ElementsMatch(t, wanted, counted)
}

func Example() {
	collector := mongoprom.NewCollector(prometheus.Labels{"client": "orders"})
	prometheus.MustRegister(collector)

	client, err := mongo.Connect(options.Client().
		ApplyURI("mongodb://localhost:27017/?adaptiveRetries=true").
		SetRetryMonitor(collector.Monitor()).
		SetMonitor(collector.CommandMonitor(nil))) // or your own in place of nil
	if err != nil {
		panic(err)
	}
	collector.Observe(client)
}

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

// series is what a registry gathers of a collector with the metrics of one client.
type series struct {
	values map[string]float64  // by the metric's name and the values of its labels, sorted by the labels' names
	counts map[string]int      // of series, by the metric's name
	labels map[string][]string // by the name that queries use
}

func gather(t *testing.T, collector *mongoprom.Collector) series {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(collector))
	require.NoError(t, registry.Register(mongoprom.NewCollector(prometheus.Labels{"client": "another"})))
	families, err := registry.Gather()
	require.NoError(t, err)
	s := series{map[string]float64{}, map[string]int{}, map[string][]string{}}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			values, labels := []string{strings.TrimPrefix(family.GetName(), "mongodb_driver_")}, []string{"job", "instance"}
			for _, label := range metric.GetLabel() {
				values, labels = append(values, label.GetValue()), append(labels, label.GetName())
			}
			if values[1] == "another" {
				continue
			}
			name := family.GetName()
			if metric.GetHistogram() != nil {
				name, labels = name+"_bucket", append(labels, "le")
			}
			s.labels[name] = labels
			s.counts[values[0]]++
			s.values[strings.Join(values, " ")] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue() +
				metric.GetHistogram().GetSampleSum()
		}
	}
	return s
}

// nonzero returns the values that are not zero.
func (s series) nonzero() map[string]float64 {
	maps.DeleteFunc(s.values, func(_ string, v float64) bool { return v == 0 })
	return s.values
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
	s := gather(t, collector)
	assert.Equal(t, map[string]int{"retry_decisions_total": 3 * 11, "retried_operations_total": 3 * 2, "retry_backoff_seconds": 1}, s.counts)
	assert.Empty(t, s.nonzero())

	client := &fake{}
	collector.Observe(client)
	publish(collector.Monitor())
	want := map[string]float64{
		"retry_decisions_total orders critical bucketEmpty refused": 1, "retry_decisions_total orders critical overloaded retry": 1,
		"retry_decisions_total orders critical retryable retry": 1, "retry_backoff_seconds orders": 0.03,
		"retried_operations_total orders critical failed": 1, "retried_operations_total orders critical succeeded": 1,
	}
	assert.Equal(t, want, gather(t, collector).nonzero())

	*client = fake{998.5, true, map[string]float64{"a:27017": 0, "b:27017": 0.5}}
	heard := ""
	monitor := collector.CommandMonitor(&event.CommandMonitor{
		Started:   func(context.Context, *event.CommandStartedEvent) { heard += "started " },
		Succeeded: func(context.Context, *event.CommandSucceededEvent) { heard += "succeeded " },
	})
	monitor.Started(context.Background(), nil)
	monitor.Succeeded(context.Background(), nil)
	assert.Equal(t, "started succeeded ", heard)
	collector.CommandMonitor(nil).Succeeded(context.Background(), nil)
	publish(collector.Monitor())
	for name := range want {
		want[name] *= 2
	}
	want["operations_total orders failed"], want["operations_total orders succeeded"] = 2, 2
	want["retry_tokens orders"], want["throttle_probability orders b:27017"] = 998.5, 0.5
	s = gather(t, collector)
	assert.Equal(t, want, s.nonzero())
	assert.Equal(t, 2, s.counts["throttle_probability"])
	problems, err := testutil.CollectAndLint(collector)
	require.NoError(t, err)
	assert.Empty(t, problems)
}

// full returns what is gathered of a client that has all that there is.
func full(t *testing.T) series {
	t.Helper()
	collector := mongoprom.NewCollector(prometheus.Labels{"client": "orders"})
	collector.CommandMonitor(nil)
	collector.Observe(&fake{has: true, probabilities: map[string]float64{"a:27017": 0}})
	return gather(t, collector)
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
	exported := full(t).labels
	for _, selector := range matches(query, `(mongodb_driver_\w+)(\{[^}]*\})?`) {
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
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "contrib/dashboard/dashboard.json")), &dashboard))
	var shown, exported []string
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			shown = append(shown, selected(t, target.Expr)...)
		}
	}
	for name := range full(t).labels {
		exported = append(exported, name)
	}
	slices.Sort(shown)
	assert.ElementsMatch(t, exported, slices.Compact(shown))
}

// The alerts lead to the runbook, which describes just these.
func TestAlerts(t *testing.T) {
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr         string
				Labels, Annotations map[string]string
			}
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "contrib/prometheus/alerts.yaml")), &file))
	described := matches(read(t, "docs/runbook.md"), `(?m)^### (\w+)$`)
	require.Len(t, file.Groups[0].Rules, len(described))
	for i, rule := range file.Groups[0].Rules {
		assert.Equal(t, described[i][1], rule.Alert)
		selected(t, rule.Expr)
		assert.NotEmpty(t, rule.Labels["severity"], rule.Alert)
		assert.NotEmpty(t, rule.Annotations["summary"], rule.Alert)
		assert.Equal(t, "docs/runbook.md#"+strings.ToLower(rule.Alert), rule.Annotations["runbook_url"])
	}
}

// The page names the driver's reasons, and the adapter starts with those verdicts that the page says. Ordinary errors are not counted.
func TestReasons(t *testing.T) {
	var reasons, documented, wanted, counted []string
	for _, file := range []string{"internal/retry/bucket", "internal/retry/verdict", "extras/events/event/retry", "extras/throttling/event/throttled"} {
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
	for name := range full(t).values {
		if words := strings.Fields(name); words[0] == "retry_decisions_total" && words[2] == "normal" {
			counted = append(counted, words[4]+" "+words[3])
		}
	}
	assert.Len(t, documented, 11)
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

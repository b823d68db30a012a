package mongoprom_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/event"

	mongoprom "mongofork.internal/prometheus"
)

// publish publishes the events of a critical operation that is retried twice and then succeeds, of one that is refused a retry, and
// of one with an ordinary error.
func publish(monitor *event.RetryMonitor) {
	ctx := context.Background()
	for _, decision := range []event.RetryDecidedEvent{
		{Criticality: event.CriticalityCritical, Attempt: 1, WillRetry: true, Backoff: 30 * time.Millisecond,
			Reason: event.RetryReasonOverloaded},
		{Criticality: event.CriticalityCritical, Attempt: 2, WillRetry: true, Reason: event.RetryReasonRetryable},
	} {
		monitor.Decided(ctx, &decision)
	}
	monitor.Finished(ctx, &event.RetryFinishedEvent{Criticality: event.CriticalityCritical, Attempts: 3, Retries: 2})
	monitor.Decided(ctx, &event.RetryDecidedEvent{
		Criticality: event.CriticalityCritical, Attempt: 1, Reason: event.RetryReasonBucketEmpty,
	})
	monitor.Decided(ctx, &event.RetryDecidedEvent{Attempt: 1, Reason: event.RetryReasonNotRetryable})
}

const decisions = "mongodb_driver_retry_decisions_total"

// decided returns the decisions that were counted once, all of which are critical, and fails if any was counted more often.
func decided(t *testing.T, collector *mongoprom.Collector) (once []string) {
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(collector))
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if n := metric.GetCounter().GetValue(); family.GetName() == decisions && n > 0 {
				labels := metric.GetLabel() // sorted by their names
				assert.Equal(t, []any{1.0, "critical"}, []any{n, labels[1].GetValue()})
				once = append(once, labels[2].GetValue()+" "+labels[3].GetValue())
			}
		}
	}
	return once
}

func TestCollector(t *testing.T) {
	collector := mongoprom.NewCollector(prometheus.Labels{"client": "orders"})
	publish(collector.Monitor())
	collector.Monitor().Finished(context.Background(), &event.RetryFinishedEvent{Criticality: event.CriticalityCritical,
		Failure: errors.New("overloaded")})

	want := `
# HELP mongodb_driver_retried_operations_total Operations that ended after retries.
# TYPE mongodb_driver_retried_operations_total counter
mongodb_driver_retried_operations_total{client="orders",criticality="critical",outcome="failed"} 1
mongodb_driver_retried_operations_total{client="orders",criticality="normal",outcome="failed"} 0
mongodb_driver_retried_operations_total{client="orders",criticality="sheddable",outcome="failed"} 0
mongodb_driver_retried_operations_total{client="orders",criticality="critical",outcome="succeeded"} 1
mongodb_driver_retried_operations_total{client="orders",criticality="normal",outcome="succeeded"} 0
mongodb_driver_retried_operations_total{client="orders",criticality="sheddable",outcome="succeeded"} 0
# HELP mongodb_driver_retry_backoff_seconds Backoffs before retries after overload errors.
# TYPE mongodb_driver_retry_backoff_seconds histogram
mongodb_driver_retry_backoff_seconds_bucket{client="orders",le="0.025"} 0
mongodb_driver_retry_backoff_seconds_bucket{client="orders",le="0.05"} 1
mongodb_driver_retry_backoff_seconds_bucket{client="orders",le="0.1"} 1
mongodb_driver_retry_backoff_seconds_bucket{client="orders",le="0.2"} 1
mongodb_driver_retry_backoff_seconds_bucket{client="orders",le="0.4"} 1
mongodb_driver_retry_backoff_seconds_bucket{client="orders",le="0.8"} 1
mongodb_driver_retry_backoff_seconds_bucket{client="orders",le="1.6"} 1
mongodb_driver_retry_backoff_seconds_bucket{client="orders",le="3.2"} 1
mongodb_driver_retry_backoff_seconds_bucket{client="orders",le="6.4"} 1
mongodb_driver_retry_backoff_seconds_bucket{client="orders",le="10"} 1
mongodb_driver_retry_backoff_seconds_bucket{client="orders",le="+Inf"} 1
mongodb_driver_retry_backoff_seconds_sum{client="orders"} 0.03
mongodb_driver_retry_backoff_seconds_count{client="orders"} 1
`
	require.NoError(t, testutil.CollectAndCompare(collector, strings.NewReader(want), "mongodb_driver_retried_operations_total",
		"mongodb_driver_retry_backoff_seconds"))
	assert.Equal(t, 3*11, testutil.CollectAndCount(collector, decisions), "of each class, each verdict with its reasons")
	assert.Equal(t, []string{"bucketEmpty refused", "overloaded retry", "retryable retry"}, decided(t, collector))

	problems, err := testutil.CollectAndLint(collector)
	require.NoError(t, err)
	assert.Empty(t, problems)
}

func TestCollectorsOfSeveralClients(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	for _, client := range []string{"orders", "stock"} {
		collector := mongoprom.NewCollector(prometheus.Labels{"client": client})
		require.NoError(t, registry.Register(collector))
		publish(collector.Monitor())
	}
	n, err := testutil.GatherAndCount(registry, "mongodb_driver_retry_backoff_seconds")
	require.NoError(t, err)
	assert.Equal(t, 2, n)
}

// fake is a client.
type fake struct {
	tokens        float64
	has           bool
	probabilities map[string]float64
}

func (f *fake) RetryTokens() (float64, bool) { return f.tokens, f.has }

func (f *fake) ThrottleProbabilities() map[string]float64 { return f.probabilities }

// TestGauges: what they show is read when they are collected, if anything reads it and the client has it.
func TestGauges(t *testing.T) {
	collector := mongoprom.NewCollector(nil)
	names := []string{"mongodb_driver_retry_tokens", "mongodb_driver_throttle_probability"}
	assert.Zero(t, testutil.CollectAndCount(collector, names...), "nothing reads them")

	client := &fake{}
	collector.Observe(client)
	assert.Zero(t, testutil.CollectAndCount(collector, names...), "a client has neither by default")

	*client = fake{998.5, true, map[string]float64{"a:27017": 0, "b:27017": 0.5}}
	require.NoError(t, testutil.CollectAndCompare(collector, strings.NewReader(`
# HELP mongodb_driver_retry_tokens Tokens left for retries after overload errors.
# TYPE mongodb_driver_retry_tokens gauge
mongodb_driver_retry_tokens 998.5
# HELP mongodb_driver_throttle_probability Share of reads or writes that adaptiveThrottling withholds from a server, whichever is higher.
# TYPE mongodb_driver_throttle_probability gauge
mongodb_driver_throttle_probability{server="a:27017"} 0
mongodb_driver_throttle_probability{server="b:27017"} 0.5
`), names...))
}

// TestOutcomes checks that an error rate can be computed, and that a monitor of the application's own still hears everything.
func TestOutcomes(t *testing.T) {
	collector, ctx := mongoprom.NewCollector(nil), context.Background()
	publish(collector.Monitor())
	assert.Equal(t, 0, testutil.CollectAndCount(collector, "mongodb_driver_operations_total"), "nobody counts what succeeds")

	heard := ""
	monitor := collector.CommandMonitor(&event.CommandMonitor{
		Started:   func(context.Context, *event.CommandStartedEvent) { heard += "started " },
		Succeeded: func(context.Context, *event.CommandSucceededEvent) { heard += "succeeded " },
		Failed:    func(context.Context, *event.CommandFailedEvent) { heard += "failed " },
	})
	monitor.Started(ctx, nil)
	monitor.Succeeded(ctx, nil)
	monitor.Failed(ctx, nil)
	assert.Equal(t, "started succeeded failed ", heard)
	collector.CommandMonitor(nil).Succeeded(ctx, nil)
	publish(collector.Monitor())
	require.NoError(t, testutil.CollectAndCompare(collector, strings.NewReader(`
# HELP mongodb_driver_operations_total Commands that succeeded, and operations that failed.
# TYPE mongodb_driver_operations_total counter
mongodb_driver_operations_total{outcome="failed"} 2
mongodb_driver_operations_total{outcome="succeeded"} 2
`), "mongodb_driver_operations_total"), "one refused a retry, one with an ordinary error")
}

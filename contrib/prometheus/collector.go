// Package mongoprom has Prometheus metrics of a MongoDB client's retries, from the driver's event.RetryMonitor.
//
// The metrics are:
//   - mongodb_driver_retry_decisions_total{verdict, reason, criticality} counts decisions after failed attempts. The verdict is "retry" or
//     "refused", the reason one of the event.RetryReason constants. Errors that no policy covers (notRetryable) are not counted.
//   - mongodb_driver_retry_backoff_seconds is a histogram of the backoffs before retries.
//   - mongodb_driver_retried_operations_total{outcome, criticality} counts operations that ended after retries, "succeeded" or "failed".
//   - mongodb_driver_operations_total{outcome} counts commands that succeeded, and operations that failed, only for clients with
//     CommandMonitor.
//   - mongodb_driver_retry_tokens are the tokens left, only for clients with adaptiveRetries.
//   - mongodb_driver_throttle_probability{server} is the share of reads or writes that is withheld from the server, whichever is higher,
//     only for clients with adaptiveThrottling.
//
// The criticality is "sheddable", "normal" or "critical", see mongo.NewCriticalityContext.
//
// The series of the counters are there from the start, at zero.
package mongoprom

import (
	"cmp"
	"context"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"go.mongodb.org/mongo-driver/v2/event"
)

var (
	// verdicts are by whether there is a retry, outcomes by whether the operation failed.
	verdicts = map[bool]string{true: "retry", false: "refused"}
	outcomes = map[bool]string{true: "failed", false: "succeeded"}
	// reasons are those that a verdict may have.
	reasons = map[bool][]event.RetryReason{
		true: {event.RetryReasonOverloaded, event.RetryReasonThrottled, event.RetryReasonRetryable},
		false: {event.RetryReasonLabelMissing, event.RetryReasonOptionOff, event.RetryReasonLimit,
			event.RetryReasonDeadline, event.RetryReasonBucketEmpty, event.RetryReasonContextDone, event.RetryReasonThrottled,
			event.RetryReasonOverloadLasts, event.RetryReasonDisconnected},
	}
)

// backoffBuckets follow the longest backoffs before the first five retries, 0.1 to 1.6 s, with smaller buckets because a backoff
// is a random part of these. 10 s is the longest possible.
var backoffBuckets = []float64{0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10}

// Collector collects the metrics of one client, or of several that need not be distinguished. It is safe for concurrent use.
type Collector struct {
	decisions, operations, outcomes *prometheus.CounterVec
	backoff                         prometheus.Histogram
	tokens, throttling              *prometheus.Desc

	counted []prometheus.Collector // from the start

	counting atomic.Bool // whether outcomes are counted
	client   atomic.Pointer[Client]
}

var _ prometheus.Collector = (*Collector)(nil)

// NewCollector returns a collector whose metrics have the labels, which may be nil. Collectors in the same registry need
// different labels.
func NewCollector(labels prometheus.Labels) *Collector {
	counter := func(name, help string, of ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels}, of)
	}
	c := &Collector{
		decisions: counter("mongodb_driver_retry_decisions_total", "Decisions whether to retry a command whose attempt failed.",
			"verdict", "reason", "criticality"),
		backoff: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "mongodb_driver_retry_backoff_seconds",
			Help: "Backoffs before retries after overload errors.", Buckets: backoffBuckets, ConstLabels: labels}),
		operations: counter("mongodb_driver_retried_operations_total", "Operations that ended after retries.",
			"outcome", "criticality"),
		outcomes: counter("mongodb_driver_operations_total", "Commands that succeeded, and operations that failed.", "outcome"),
		tokens:   prometheus.NewDesc("mongodb_driver_retry_tokens", "Tokens left for retries after overload errors.", nil, labels),
		throttling: prometheus.NewDesc("mongodb_driver_throttle_probability",
			"Share of reads or writes that adaptiveThrottling withholds from a server, whichever is higher.",
			[]string{"server"}, labels),
	}
	c.counted = []prometheus.Collector{c.decisions, c.backoff, c.operations, c.outcomes}
	// Prometheus' rate ignores the first value of a new series, and these are the counts with which an overload begins.
	for _, class := range []string{"sheddable", "normal", "critical"} {
		for willRetry, all := range reasons {
			for _, reason := range all {
				c.decisions.WithLabelValues(verdicts[willRetry], string(reason), class)
			}
		}
		c.operations.WithLabelValues(outcomes[false], class)
		c.operations.WithLabelValues(outcomes[true], class)
	}
	return c
}

// Monitor returns the monitor for ClientOptions.SetRetryMonitor.
func (c *Collector) Monitor() *event.RetryMonitor {
	return &event.RetryMonitor{Decided: c.decided, Finished: c.finished}
}

// CommandMonitor returns a monitor for ClientOptions.SetMonitor of the client with this collector's Monitor, that hands everything on
// to the next one, which may be nil. With both, operations are counted by their outcome: as succeeded each command that the server
// executed, as failed each operation that ended with an error after an attempt, whatever the error. Write errors in a reply with ok: 1
// count as success, and what found no server or no connection is not counted.
func (c *Collector) CommandMonitor(next *event.CommandMonitor) *event.CommandMonitor {
	c.counting.Store(true)
	successes := c.outcomes.WithLabelValues(outcomes[false])
	c.outcomes.WithLabelValues(outcomes[true])
	monitor := *cmp.Or(next, &event.CommandMonitor{})
	succeeded := monitor.Succeeded
	monitor.Succeeded = func(ctx context.Context, e *event.CommandSucceededEvent) {
		successes.Inc()
		if succeeded != nil {
			succeeded(ctx, e)
		}
	}
	return &monitor
}

// Client is what Observe asks a *mongo.Client.
type Client interface {
	RetryTokens() (tokens float64, ok bool)
	ThrottleProbabilities() map[string]float64
}

// Observe reports the tokens and the probabilities of the client with this collector's monitor at each collection. Without it there are no
// metrics of these.
func (c *Collector) Observe(client Client) { c.client.Store(&client) }

func (c *Collector) decided(_ context.Context, decision *event.RetryDecidedEvent) {
	if !decision.WillRetry && c.counting.Load() {
		c.outcomes.WithLabelValues(outcomes[true]).Inc()
	}
	if decision.Reason == event.RetryReasonNotRetryable {
		return // an ordinary error: nobody refused a retry
	}
	c.decisions.WithLabelValues(verdicts[decision.WillRetry], string(decision.Reason), decision.Criticality.String()).Inc()
	if decision.Backoff > 0 {
		c.backoff.Observe(decision.Backoff.Seconds())
	}
}

func (c *Collector) finished(_ context.Context, finished *event.RetryFinishedEvent) {
	c.operations.WithLabelValues(outcomes[finished.Failure != nil], finished.Criticality.String()).Inc()
}

// Describe implements the prometheus.Collector interface.
func (c *Collector) Describe(descs chan<- *prometheus.Desc) {
	for _, metric := range c.counted {
		metric.Describe(descs)
	}
	descs <- c.tokens
	descs <- c.throttling
}

// Collect implements the prometheus.Collector interface.
func (c *Collector) Collect(metrics chan<- prometheus.Metric) {
	for _, metric := range c.counted {
		metric.Collect(metrics)
	}
	client := c.client.Load()
	if client == nil {
		return
	}
	if tokens, ok := (*client).RetryTokens(); ok {
		metrics <- prometheus.MustNewConstMetric(c.tokens, prometheus.GaugeValue, tokens)
	}
	for server, probability := range (*client).ThrottleProbabilities() {
		metrics <- prometheus.MustNewConstMetric(c.throttling, prometheus.GaugeValue, probability, server)
	}
}

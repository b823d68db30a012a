// Package mongootel has OpenTelemetry metrics and span events of a MongoDB client's retries, from the driver's
// event.RetryMonitor.
//
// The metrics are, with their attributes:
//   - mongodb.driver.retry.decisions counts decisions after failed attempts: mongodb.retry.verdict ("retry" or "refused"),
//     mongodb.retry.reason (one of the event.RetryReason constants), mongodb.retry.criticality. Errors that no policy covers
//     (notRetryable) are not counted.
//   - mongodb.driver.retry.backoff is a histogram of the backoffs before retries, in seconds.
//   - mongodb.driver.retried.operations counts operations that ended after retries: mongodb.retry.outcome ("succeeded" or "failed"),
//     mongodb.retry.criticality.
//   - mongodb.driver.operations counts commands that succeeded and operations that failed, only for clients with CommandMonitor:
//     mongodb.retry.outcome.
//   - mongodb.driver.retry.tokens is a gauge of the tokens left, only for clients with adaptiveRetries.
//   - mongodb.driver.throttle.probability is a gauge of the share of reads or writes that is withheld, the higher, only for clients with
//     adaptiveThrottling: server.address, server.port.
//
// A gauge has one value for each set of attributes: of clients that share theirs, only one is seen. Give each client a Retries with
// attributes of its own.
//
// The criticality is "sheddable", "normal" or "critical", see mongo.NewCriticalityContext.
//
// The span of an operation's context, if it is recorded, gets the event "mongodb.retry.decided" for each decision that is counted, and
// "mongodb.retry.finished" when an operation ends after retries.
package mongootel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// ScopeName is the instrumentation scope of the metrics.
const ScopeName = "mongofork.internal/otel"

// The attributes that the semantic conventions have no name for.
const (
	VerdictKey  = attribute.Key("mongodb.retry.verdict")
	ReasonKey   = attribute.Key("mongodb.retry.reason")
	OutcomeKey  = attribute.Key("mongodb.retry.outcome")
	AttemptKey  = attribute.Key("mongodb.retry.attempt")
	AttemptsKey = attribute.Key("mongodb.retry.attempts")
	BackoffKey  = attribute.Key("mongodb.retry.backoff") // in seconds
	TokensKey   = attribute.Key("mongodb.retry.tokens")

	CriticalityKey = attribute.Key("mongodb.retry.criticality")
)

var (
	// verdicts are by whether there is a retry, outcomes by whether the operation failed.
	verdicts = map[bool]attribute.KeyValue{true: VerdictKey.String("retry"), false: VerdictKey.String("refused")}
	outcomes = map[bool]attribute.KeyValue{true: OutcomeKey.String("failed"), false: OutcomeKey.String("succeeded")}
	// reasons are those that a verdict may have.
	reasons = map[bool][]event.RetryReason{
		true: {event.RetryReasonOverloaded, event.RetryReasonThrottled, event.RetryReasonRetryable},
		false: {event.RetryReasonLabelMissing, event.RetryReasonOptionOff, event.RetryReasonLimit,
			event.RetryReasonDeadline, event.RetryReasonBucketEmpty, event.RetryReasonContextDone, event.RetryReasonThrottled,
			event.RetryReasonOverloadLasts, event.RetryReasonDisconnected},
	}
)

// backoffBoundaries follow the longest backoffs before the first five retries, 0.1 to 1.6 s, with smaller boundaries because a
// backoff is a random part of these. 10 s is the longest possible.
var backoffBoundaries = []float64{0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10}

// Retries records the metrics and span events of one client, or of several that need not be distinguished. It is safe for
// concurrent use.
type Retries struct {
	meter      metric.Meter
	attributes metric.MeasurementOption
	decisions  metric.Int64Counter
	backoff    metric.Float64Histogram
	operations metric.Int64Counter
	outcomes   metric.Int64Counter
	counting   atomic.Bool // whether outcomes are counted
	tokens     metric.Float64ObservableGauge
	throttling metric.Float64ObservableGauge
}

// New returns a Retries, whose metrics have the attributes, such as a name to tell clients apart. The provider may be nil, which stands
// for otel.GetMeterProvider. New fails only if the provider does.
func New(provider metric.MeterProvider, attributes ...attribute.KeyValue) (*Retries, error) {
	if provider == nil {
		provider = otel.GetMeterProvider()
	}
	r := &Retries{meter: provider.Meter(ScopeName), attributes: metric.WithAttributes(attributes...)}
	var errs [6]error
	r.decisions, errs[0] = r.meter.Int64Counter("mongodb.driver.retry.decisions", metric.WithUnit("{decision}"),
		metric.WithDescription("Decisions whether to retry a command whose attempt failed."))
	r.backoff, errs[1] = r.meter.Float64Histogram("mongodb.driver.retry.backoff", metric.WithUnit("s"),
		metric.WithDescription("Backoffs before retries after overload errors."),
		metric.WithExplicitBucketBoundaries(backoffBoundaries...))
	r.operations, errs[2] = r.meter.Int64Counter("mongodb.driver.retried.operations", metric.WithUnit("{operation}"),
		metric.WithDescription("Operations that ended after retries."))
	r.outcomes, errs[3] = r.meter.Int64Counter("mongodb.driver.operations", metric.WithUnit("{operation}"),
		metric.WithDescription("Commands that succeeded, and operations that failed."))
	r.tokens, errs[4] = r.meter.Float64ObservableGauge("mongodb.driver.retry.tokens", metric.WithUnit("{token}"),
		metric.WithDescription("Tokens left for retries after overload errors."))
	r.throttling, errs[5] = r.meter.Float64ObservableGauge("mongodb.driver.throttle.probability", metric.WithUnit("1"),
		metric.WithDescription("Share of reads or writes that adaptiveThrottling withholds from a server, whichever is higher."))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("create the instruments of MongoDB retries: %w", err)
	}
	r.startAtZero()
	return r, nil
}

// startAtZero creates the data points of all attribute values. A rate ignores the first value of a new series, and these are the
// counts with which an overload begins.
func (r *Retries) startAtZero() {
	ctx := context.Background()
	for _, class := range []string{"sheddable", "normal", "critical"} {
		for willRetry, all := range reasons {
			for _, reason := range all {
				r.add(ctx, r.decisions, 0, verdicts[willRetry], ReasonKey.String(string(reason)),
					CriticalityKey.String(class))
			}
		}
		r.add(ctx, r.operations, 0, outcomes[false], CriticalityKey.String(class))
		r.add(ctx, r.operations, 0, outcomes[true], CriticalityKey.String(class))
	}
}

func (r *Retries) add(ctx context.Context, counter metric.Int64Counter, n int64, attributes ...attribute.KeyValue) {
	counter.Add(ctx, n, r.attributes, metric.WithAttributes(attributes...))
}

// Monitor returns the monitor for ClientOptions.SetRetryMonitor.
func (r *Retries) Monitor() *event.RetryMonitor {
	return &event.RetryMonitor{Decided: r.decided, Finished: r.finished}
}

// CommandMonitor returns a monitor for ClientOptions.SetMonitor of the client with this Monitor, that hands everything on to the next
// one, which may be nil. With both, operations are counted by their outcome: as succeeded each command that the server executed, as
// failed each operation that ended with an error after an attempt, whatever the error. Write errors in a reply with ok: 1 count as
// success, and what found no server or no connection is not counted.
func (r *Retries) CommandMonitor(next *event.CommandMonitor) *event.CommandMonitor {
	r.counting.Store(true)
	r.add(context.Background(), r.outcomes, 0, outcomes[false])
	r.add(context.Background(), r.outcomes, 0, outcomes[true])
	monitor := *cmp.Or(next, &event.CommandMonitor{})
	succeeded := monitor.Succeeded
	monitor.Succeeded = func(ctx context.Context, e *event.CommandSucceededEvent) {
		r.add(ctx, r.outcomes, 1, outcomes[false])
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

// Observe reports the tokens and the probabilities of the client with this monitor at each collection. Unregister the registration when
// the client is disconnected.
func (r *Retries) Observe(client Client) (metric.Registration, error) {
	return r.meter.RegisterCallback(func(_ context.Context, observer metric.Observer) error {
		if tokens, ok := client.RetryTokens(); ok {
			observer.ObserveFloat64(r.tokens, tokens, r.attributes)
		}
		for addr, probability := range client.ThrottleProbabilities() {
			observer.ObserveFloat64(r.throttling, probability, r.attributes,
				metric.WithAttributes(server(address.Address(addr))...))
		}
		return nil
	}, r.tokens, r.throttling)
}

func (r *Retries) decided(ctx context.Context, decision *event.RetryDecidedEvent) {
	if !decision.WillRetry && r.counting.Load() {
		r.add(ctx, r.outcomes, 1, outcomes[true])
	}
	if decision.Reason == event.RetryReasonNotRetryable {
		return // an ordinary error: nobody refused a retry
	}
	reason, class := ReasonKey.String(string(decision.Reason)), CriticalityKey.String(decision.Criticality.String())
	r.add(ctx, r.decisions, 1, verdicts[decision.WillRetry], reason, class)
	if decision.Backoff > 0 {
		r.backoff.Record(ctx, decision.Backoff.Seconds(), r.attributes)
	}
	attributes := []attribute.KeyValue{AttemptKey.Int(decision.Attempt), verdicts[decision.WillRetry], reason,
		BackoffKey.Float64(decision.Backoff.Seconds()), class}
	attributes = append(attributes, server(decision.ServerAddress)...)
	if decision.Failure != nil {
		attributes = append(attributes, semconv.ExceptionMessage(decision.Failure.Error()))
	}
	addEvent(ctx, "mongodb.retry.decided", decision.CommandName, decision.DatabaseName, decision.Tokens, attributes)
}

func (r *Retries) finished(ctx context.Context, finished *event.RetryFinishedEvent) {
	class := CriticalityKey.String(finished.Criticality.String())
	r.add(ctx, r.operations, 1, outcomes[finished.Failure != nil], class)
	attributes := []attribute.KeyValue{AttemptsKey.Int(finished.Attempts), BackoffKey.Float64(finished.Backoff.Seconds()),
		outcomes[finished.Failure != nil], class}
	if finished.Reason != "" {
		attributes = append(attributes, ReasonKey.String(string(finished.Reason)))
	}
	addEvent(ctx, "mongodb.retry.finished", finished.CommandName, finished.DatabaseName, finished.Tokens, attributes)
}

// addEvent adds an event to the context's span, if it is recorded.
func addEvent(ctx context.Context, name, command, database string, tokens *float64, attributes []attribute.KeyValue) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	attributes = append([]attribute.KeyValue{semconv.DBOperationName(command), semconv.DBNamespace(database)}, attributes...)
	if tokens != nil {
		attributes = append(attributes, TokensKey.Float64(*tokens))
	}
	span.AddEvent(name, trace.WithAttributes(attributes...))
}

// server returns the attributes of a server's address: none if it is empty, and no port for a Unix domain socket.
func server(addr address.Address) []attribute.KeyValue {
	if addr == "" {
		return nil
	}
	host, portText, err := net.SplitHostPort(addr.String())
	if err != nil {
		return []attribute.KeyValue{semconv.ServerAddress(addr.String())}
	}
	attributes := []attribute.KeyValue{semconv.ServerAddress(host)}
	if port, err := strconv.Atoi(portText); err == nil {
		attributes = append(attributes, semconv.ServerPort(port))
	}
	return attributes
}

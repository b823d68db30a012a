package mongootel_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	mongootel "mongofork.internal/otel"
)

// start returns a Retries and its reader.
func start(t *testing.T, attributes ...attribute.KeyValue) (*mongootel.Retries, *metric.ManualReader) {
	reader := metric.NewManualReader()
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	retries, err := mongootel.New(provider, attributes...)
	require.NoError(t, err)
	return retries, reader
}

// collect returns the metrics by their names.
func collect(t *testing.T, reader *metric.ManualReader) map[string]metricdata.Metrics {
	var resource metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(context.Background(), &resource))
	byName := map[string]metricdata.Metrics{}
	for _, scope := range resource.ScopeMetrics {
		assert.Equal(t, mongootel.ScopeName, scope.Scope.Name)
		for _, m := range scope.Metrics {
			byName[m.Name] = m
		}
	}
	return byName
}

// counted returns a counter's points that are not zero, by the values of their attributes, and how many points there are.
func counted(t *testing.T, m metricdata.Metrics) (counts map[string]int64, points int) {
	sum, ok := m.Data.(metricdata.Sum[int64])
	require.True(t, ok && sum.IsMonotonic)
	counts = map[string]int64{}
	for _, point := range sum.DataPoints {
		var values []string
		for _, attribute := range point.Attributes.ToSlice() { // sorted by their keys
			values = append(values, attribute.Value.AsString())
		}
		if point.Value != 0 {
			counts[strings.Join(values, " ")] = point.Value
		}
	}
	return counts, len(sum.DataPoints)
}

// publish publishes the events of a critical operation that is retried twice and then fails, and of one with an ordinary error.
func publish(ctx context.Context, monitor *event.RetryMonitor) {
	left, overloaded := 999.0, errors.New("overloaded")
	find := event.RetryDecidedEvent{CommandName: "find", DatabaseName: "shop", Criticality: event.CriticalityCritical}
	first, second, third := find, find, find
	first.Attempt, first.ServerAddress, first.Failure, first.Tokens = 1, "a:27017", overloaded, &left
	first.WillRetry, first.Backoff, first.Reason = true, 30*time.Millisecond, event.RetryReasonOverloaded
	second.Attempt, second.WillRetry, second.Reason = 2, true, event.RetryReasonRetryable
	third.Attempt, third.ServerAddress, third.Reason = 3, "/tmp/mongodb.sock", event.RetryReasonLimit
	for _, decision := range []event.RetryDecidedEvent{first, second, third} {
		monitor.Decided(ctx, &decision)
	}
	monitor.Finished(ctx, &event.RetryFinishedEvent{
		CommandName: "find", DatabaseName: "shop", Criticality: event.CriticalityCritical, Attempts: 3, Retries: 2,
		Backoff: 30 * time.Millisecond, Failure: overloaded, Reason: event.RetryReasonLimit, Tokens: &left,
	})
	monitor.Decided(ctx, &event.RetryDecidedEvent{CommandName: "drop", Attempt: 1, Reason: event.RetryReasonNotRetryable})
}

func TestMetrics(t *testing.T) {
	client := attribute.String("client", "orders")
	retries, reader := start(t, client)
	metrics := collect(t, reader)
	for name, want := range map[string]int{"mongodb.driver.retry.decisions": 3 * 11, "mongodb.driver.retried.operations": 3 * 2} {
		counts, points := counted(t, metrics[name])
		assert.Empty(t, counts, name)
		assert.Equal(t, want, points, "%s of each class, from the start", name)
	}

	publish(context.Background(), retries.Monitor())
	retries.Monitor().Finished(context.Background(), &event.RetryFinishedEvent{
		Criticality: event.CriticalityCritical, Attempts: 2, Retries: 1,
	})
	metrics = collect(t, reader)
	decisions, points := counted(t, metrics["mongodb.driver.retry.decisions"])
	assert.Equal(t, map[string]int64{
		"orders critical overloaded retry": 1, "orders critical retryable retry": 1, "orders critical limit refused": 1,
	}, decisions)
	assert.Equal(t, 3*11, points, "none is new")
	operations, _ := counted(t, metrics["mongodb.driver.retried.operations"])
	assert.Equal(t, map[string]int64{"orders critical failed": 1, "orders critical succeeded": 1}, operations)

	backoffs := metrics["mongodb.driver.retry.backoff"].Data.(metricdata.Histogram[float64]).DataPoints
	require.Len(t, backoffs, 1)
	assert.Equal(t, uint64(1), backoffs[0].Count)
	assert.Equal(t, 0.03, backoffs[0].Sum)
	assert.Equal(t, "s", metrics["mongodb.driver.retry.backoff"].Unit)
	assert.Equal(t, attribute.NewSet(client), backoffs[0].Attributes)
}

// fake is a client.
type fake struct {
	tokens        float64
	has           bool
	probabilities map[string]float64
}

func (f *fake) RetryTokens() (float64, bool) { return f.tokens, f.has }

func (f *fake) ThrottleProbabilities() map[string]float64 { return f.probabilities }

// TestGauges: what they show is read when they are collected, if anything reads it and the client has it, until nothing does any more.
func TestGauges(t *testing.T) {
	const tokensName, throttlingName = "mongodb.driver.retry.tokens", "mongodb.driver.throttle.probability"
	retries, reader := start(t)
	assertNone := func(why string) {
		metrics := collect(t, reader)
		assert.NotContains(t, metrics, tokensName, why)
		assert.NotContains(t, metrics, throttlingName, why)
	}
	assertNone("nothing reads them")

	client := &fake{}
	observes, err := retries.Observe(client)
	require.NoError(t, err)
	assertNone("a client has neither by default")

	*client = fake{995.5, true, map[string]float64{"a:27017": 0.5}}
	metrics := collect(t, reader)
	left := metrics[tokensName].Data.(metricdata.Gauge[float64]).DataPoints
	require.Len(t, left, 1)
	assert.Equal(t, 995.5, left[0].Value)
	withheld := metrics[throttlingName].Data.(metricdata.Gauge[float64]).DataPoints
	require.Len(t, withheld, 1)
	assert.Equal(t, 0.5, withheld[0].Value)
	port, ok := withheld[0].Attributes.Value("server.port")
	assert.True(t, ok)
	assert.Equal(t, int64(27017), port.AsInt64())

	require.NoError(t, observes.Unregister())
	assertNone("nothing reads them any more")
}

func TestSpanEvents(t *testing.T) {
	retries, _ := start(t)
	spans := tracetest.NewSpanRecorder()
	tracer := trace.NewTracerProvider(trace.WithSpanProcessor(spans)).Tracer("test")
	ctx, span := tracer.Start(context.Background(), "order")
	publish(ctx, retries.Monitor())
	span.End()

	events := spans.Ended()[0].Events()
	require.Len(t, events, 4)
	critical := mongootel.CriticalityKey.String("critical")
	find := []attribute.KeyValue{attribute.String("db.operation.name", "find"), attribute.String("db.namespace", "shop")}
	assert.Equal(t, "mongodb.retry.decided", events[0].Name)
	assert.Equal(t, append(find[:2:2],
		mongootel.AttemptKey.Int(1), mongootel.VerdictKey.String("retry"), mongootel.ReasonKey.String("overloaded"),
		mongootel.BackoffKey.Float64(0.03), critical, attribute.String("server.address", "a"), attribute.Int("server.port", 27017),
		attribute.String("exception.message", "overloaded"), mongootel.TokensKey.Float64(999),
	), events[0].Attributes)
	assert.Equal(t, append(find[:2:2],
		mongootel.AttemptKey.Int(2), mongootel.VerdictKey.String("retry"), mongootel.ReasonKey.String("retryable"),
		mongootel.BackoffKey.Float64(0), critical,
	), events[1].Attributes)
	assert.Equal(t, append(find[:2:2],
		mongootel.AttemptKey.Int(3), mongootel.VerdictKey.String("refused"), mongootel.ReasonKey.String("limit"),
		mongootel.BackoffKey.Float64(0), critical, attribute.String("server.address", "/tmp/mongodb.sock"),
	), events[2].Attributes)
	assert.Equal(t, "mongodb.retry.finished", events[3].Name)
	assert.Equal(t, append(find[:2:2],
		mongootel.AttemptsKey.Int(3), mongootel.BackoffKey.Float64(0.03), mongootel.OutcomeKey.String("failed"),
		critical, mongootel.ReasonKey.String("limit"), mongootel.TokensKey.Float64(999),
	), events[3].Attributes)
}

// TestOutcomes checks that an error rate can be computed, and that a monitor of the application's own still hears everything.
func TestOutcomes(t *testing.T) {
	retries, reader := start(t)
	ctx, heard := context.Background(), 0
	publish(ctx, retries.Monitor())
	assert.Empty(t, collect(t, reader)["mongodb.driver.operations"], "nobody counts what succeeds")
	monitor := retries.CommandMonitor(&event.CommandMonitor{Succeeded: func(context.Context, *event.CommandSucceededEvent) { heard++ }})
	assert.Nil(t, monitor.Started)
	monitor.Succeeded(ctx, nil)
	assert.Equal(t, 1, heard)
	publish(ctx, retries.Monitor())
	operations, _ := counted(t, collect(t, reader)["mongodb.driver.operations"])
	assert.Equal(t, map[string]int64{"failed": 2, "succeeded": 1}, operations)
}

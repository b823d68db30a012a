package mongootel_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	mongootel "mongofork.internal/otel"
)

// collect returns the values that are not zero, by the metric's name and the values of its attributes, sorted by their keys, and the number
// of points by the metric's name.
func collect(t *testing.T, reader *metric.ManualReader) (values map[string]float64, points map[string]int) {
	t.Helper()
	var resource metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(context.Background(), &resource))
	values, points = map[string]float64{}, map[string]int{}
	for _, scope := range resource.ScopeMetrics {
		assert.Equal(t, mongootel.ScopeName, scope.Scope.Name)
		for _, m := range scope.Metrics {
			name, named := strings.CutPrefix(m.Name, "mongodb.driver.")
			assert.True(t, named, m.Name)
			add := func(attributes attribute.Set, value float64) {
				words := []string{name}
				for _, attribute := range attributes.ToSlice() {
					words = append(words, attribute.Value.String())
				}
				values[strings.Join(words, " ")] = value
				points[name]++
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				assert.True(t, data.IsMonotonic)
				for _, point := range data.DataPoints {
					add(point.Attributes, float64(point.Value))
				}
			case metricdata.Gauge[float64]:
				for _, point := range data.DataPoints {
					add(point.Attributes, point.Value)
				}
			case metricdata.Histogram[float64]:
				assert.Equal(t, "s", m.Unit)
				for _, point := range data.DataPoints {
					assert.Equal(t, uint64(1), point.Count, "backoffs that were not zero")
					add(point.Attributes, point.Sum)
				}
			}
		}
	}
	maps.DeleteFunc(values, func(_ string, v float64) bool { return v == 0 })
	return values, points
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
	monitor.Finished(ctx, &event.RetryFinishedEvent{CommandName: "find", DatabaseName: "shop", Criticality: event.CriticalityCritical,
		Attempts: 3, Retries: 2, Backoff: 30 * time.Millisecond, Failure: overloaded, Reason: event.RetryReasonLimit,
		Tokens: &left})
	monitor.Decided(ctx, &event.RetryDecidedEvent{CommandName: "drop", Attempt: 1, Reason: event.RetryReasonNotRetryable})
}

// fake is a client.
type fake struct {
	tokens        float64
	has           bool
	probabilities map[string]float64
}

func (f *fake) RetryTokens() (float64, bool) { return f.tokens, f.has }

func (f *fake) ThrottleProbabilities() map[string]float64 { return f.probabilities }

// TestMetrics: counters are there from the start. What gauges show is read when they are collected, if the client has it, until nothing
// reads it any more. Operations are counted by their outcome if the command monitor is used, whose next one hears everything.
func TestMetrics(t *testing.T) {
	reader, ctx := metric.NewManualReader(), context.Background()
	retries, err := mongootel.New(metric.NewMeterProvider(metric.WithReader(reader)), attribute.String("client", "orders"))
	require.NoError(t, err)
	client := &fake{}
	observes, err := retries.Observe(client)
	require.NoError(t, err)
	values, points := collect(t, reader)
	assert.Empty(t, values)
	assert.Equal(t, map[string]int{"retry.decisions": 3 * 12, "retried.operations": 3 * 2}, points)

	publish(ctx, retries.Monitor())
	retries.Monitor().Finished(ctx, &event.RetryFinishedEvent{Criticality: event.CriticalityCritical, Attempts: 2, Retries: 1})
	want := map[string]float64{"retry.decisions orders critical overloaded retry": 1,
		"retry.decisions orders critical retryable retry": 1, "retry.decisions orders critical limit refused": 1,
		"retry.backoff orders": 0.03, "retried.operations orders critical failed": 1,
		"retried.operations orders critical succeeded": 1}
	*client = fake{995.5, true, map[string]float64{"a:27017": 0.5}}
	gauges := map[string]float64{"retry.tokens orders": 995.5, "throttle.probability orders a 27017": 0.5}
	values, points = collect(t, reader)
	assert.Equal(t, 3*12, points["retry.decisions"], "none is new")
	for name, value := range gauges {
		assert.Equal(t, value, values[name], name)
		delete(values, name)
	}
	assert.Equal(t, want, values)

	require.NoError(t, observes.Unregister())
	heard := 0
	monitor := retries.CommandMonitor(&event.CommandMonitor{Succeeded: func(context.Context, *event.CommandSucceededEvent) { heard++ }})
	assert.Nil(t, monitor.Started)
	monitor.Succeeded(ctx, nil)
	assert.Equal(t, 1, heard)
	retries.Monitor().Decided(ctx, &event.RetryDecidedEvent{Reason: event.RetryReasonNotRetryable})
	want["operations orders failed"], want["operations orders succeeded"] = 1, 1
	values, _ = collect(t, reader)
	assert.Equal(t, want, values)
}

func TestSpanEvents(t *testing.T) {
	retries, err := mongootel.New(nil)
	require.NoError(t, err)
	spans := tracetest.NewSpanRecorder()
	ctx, span := trace.NewTracerProvider(trace.WithSpanProcessor(spans)).Tracer("test").Start(context.Background(), "order")
	publish(ctx, retries.Monitor())
	span.End()

	var texts []string
	for _, e := range spans.Ended()[0].Events() {
		text := e.Name
		for _, a := range e.Attributes {
			text += " " + string(a.Key) + "=" + a.Value.String()
		}
		texts = append(texts, text)
	}
	const find = " db.operation.name=find db.namespace=shop mongodb.retry."
	assert.Equal(t, []string{
		"mongodb.retry.decided" + find + "attempt=1 mongodb.retry.verdict=retry mongodb.retry.reason=overloaded mongodb.retry.backoff=0.03 " +
			"mongodb.retry.criticality=critical server.address=a server.port=27017 exception.message=overloaded mongodb.retry.tokens=999",
		"mongodb.retry.decided" + find + "attempt=2 mongodb.retry.verdict=retry mongodb.retry.reason=retryable mongodb.retry.backoff=0 " +
			"mongodb.retry.criticality=critical",
		"mongodb.retry.decided" + find + "attempt=3 mongodb.retry.verdict=refused mongodb.retry.reason=limit mongodb.retry.backoff=0 " +
			"mongodb.retry.criticality=critical server.address=/tmp/mongodb.sock",
		"mongodb.retry.finished" + find + "attempts=3 mongodb.retry.backoff=0.03 mongodb.retry.outcome=failed " +
			"mongodb.retry.criticality=critical mongodb.retry.reason=limit mongodb.retry.tokens=999",
	}, texts)
}

func Example() {
	retries, err := mongootel.New(nil, attribute.String("client", "orders"))
	if err != nil {
		panic(err)
	}
	client, err := mongo.Connect(options.Client().
		ApplyURI("mongodb://localhost:27017/?adaptiveRetries=true").
		SetRetryMonitor(retries.Monitor()))
	if err != nil {
		panic(err)
	}
	if _, err := retries.Observe(client); err != nil {
		panic(err)
	}
}

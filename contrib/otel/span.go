package mongootel

import (
	"context"
	"net"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// addDecided adds an event for the decision to the context's span.
func addDecided(ctx context.Context, decision *event.RetryDecidedEvent) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	attributes := []attribute.KeyValue{
		semconv.DBOperationName(decision.CommandName),
		semconv.DBNamespace(decision.DatabaseName),
		AttemptKey.Int(decision.Attempt),
		verdict(decision.WillRetry),
		ReasonKey.String(decision.Reason),
		BackoffKey.Float64(decision.Backoff.Seconds()),
		CriticalityKey.String(decision.Criticality),
	}
	attributes = append(attributes, server(decision.ServerAddress)...)
	if decision.Failure != nil {
		attributes = append(attributes, semconv.ExceptionMessage(decision.Failure.Error()))
	}
	attributes = append(attributes, tokens(decision.Tokens)...)
	span.AddEvent("mongodb.retry.decided", trace.WithAttributes(attributes...))
}

// addFinished adds an event for the end of the operation to the context's span.
func addFinished(ctx context.Context, finished *event.RetryFinishedEvent) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	attributes := []attribute.KeyValue{
		semconv.DBOperationName(finished.CommandName),
		semconv.DBNamespace(finished.DatabaseName),
		AttemptsKey.Int(finished.Attempts),
		BackoffKey.Float64(finished.Backoff.Seconds()),
		outcome(finished.Failure != nil),
		CriticalityKey.String(finished.Criticality),
	}
	if finished.Reason != "" {
		attributes = append(attributes, ReasonKey.String(finished.Reason))
	}
	attributes = append(attributes, tokens(finished.Tokens)...)
	span.AddEvent("mongodb.retry.finished", trace.WithAttributes(attributes...))
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

func tokens(left *float64) []attribute.KeyValue {
	if left == nil {
		return nil
	}
	return []attribute.KeyValue{TokensKey.Float64(*left)}
}

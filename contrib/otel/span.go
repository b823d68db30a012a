package mongootel

import (
	"context"
	"net"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

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

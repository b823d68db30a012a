package mongootel_test

import (
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.opentelemetry.io/otel/attribute"

	mongootel "mongofork.internal/otel"
)

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

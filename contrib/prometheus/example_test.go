package mongoprom_test

import (
	"github.com/prometheus/client_golang/prometheus"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	mongoprom "mongofork.internal/prometheus"
)

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

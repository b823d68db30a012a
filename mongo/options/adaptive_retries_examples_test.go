package options_test

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// The option is set in the connection string or by the method; of the two, the
// later one counts. A client that has it tells how many retries it has left,
// which is worth a gauge on a dashboard.
func ExampleClientOptions_SetAdaptiveRetries() {
	opts := options.Client().
		ApplyURI("mongodb://localhost:27017/?adaptiveRetries=false")
	fmt.Println(*opts.AdaptiveRetries)
	opts.SetAdaptiveRetries(true)

	client, err := mongo.Connect(opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Disconnect(context.Background()) }()
	tokens, limited := client.RetryTokens()
	fmt.Println(tokens, limited)
	// Output:
	// false
	// 1000 true
}

package unified

import (
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// setClientOptionsFromURIOptions also knows adaptiveRetries, which upstream's runner takes for a mistake in the test.
//
//fork:wrap tests can set adaptiveRetries
func setClientOptionsFromURIOptions(clientOpts *options.ClientOptions, uriOpts bson.M) error {
	others := make(bson.M, len(uriOpts))
	for key, value := range uriOpts {
		if !strings.EqualFold(key, "adaptiveRetries") {
			others[key] = value
			continue
		}
		enabled, ok := value.(bool)
		if !ok {
			return fmt.Errorf("adaptiveRetries is %v, want a boolean", value)
		}
		clientOpts.SetAdaptiveRetries(enabled)
	}
	return upstreamSetClientOptionsFromURIOptions(clientOpts, others)
}

package unified

import (
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// setClientOptionsFromURIOptions sets the client options that a test names by URI options, those about overload included.
//
//fork:wrap tests can set the options about overload
func setClientOptionsFromURIOptions(clientOpts *options.ClientOptions, uriOpts bson.M) error {
	others := make(bson.M, len(uriOpts))
	for key, value := range uriOpts {
		known, err := setOverloadOption(clientOpts, strings.ToLower(key), value)
		if err != nil {
			return err
		}
		if !known {
			others[key] = value
		}
	}
	return upstreamSetClientOptionsFromURIOptions(clientOpts, others)
}

// setOverloadOption sets an option about overload. It reports false if the key, in lower case, is none. The unified tests of testdata/spec
// name these options.
func setOverloadOption(opts *options.ClientOptions, key string, value any) (known bool, err error) {
	switch key {
	case "adaptiveretries":
		enabled, ok := value.(bool)
		if !ok {
			return false, fmt.Errorf("adaptiveRetries is %v, want a boolean", value)
		}
		opts.SetAdaptiveRetries(enabled)
	case "maxadaptiveretries":
		n, ok := value.(int32)
		if !ok || n < 0 {
			return false, fmt.Errorf("maxAdaptiveRetries is %v, want a number of at least zero", value)
		}
		opts.SetMaxAdaptiveRetries(uint(n))
	default:
		return setBackpressureOption(opts, key, value)
	}
	return true, nil
}

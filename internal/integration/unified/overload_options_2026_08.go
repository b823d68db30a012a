//fork:base >=v2.7.0

package unified

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// setBackpressureOption sets an option that the specification's revision of 2026-08-13 has. It reports false if the key is none.
func setBackpressureOption(opts *options.ClientOptions, key string, value any) (known bool, err error) {
	switch key {
	case "maxadaptiveretries":
		n, ok := value.(int32)
		if !ok || n < 0 {
			return false, fmt.Errorf("maxAdaptiveRetries is %v, want a number of at least zero", value)
		}
		opts.SetMaxAdaptiveRetries(uint(n))
	case "enableoverloadretargeting":
		enabled, ok := value.(bool)
		if !ok {
			return false, fmt.Errorf("enableOverloadRetargeting is %v, want a boolean", value)
		}
		opts.SetEnableOverloadRetargeting(enabled)
	default:
		return false, nil
	}
	return true, nil
}

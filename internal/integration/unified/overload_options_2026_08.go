//fork:base >=v2.7.0

package unified

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// setBackpressureOption sets an option that only the specification's revision of 2026-08-13 has. It reports false if the key is none.
func setBackpressureOption(opts *options.ClientOptions, key string, value any) (known bool, err error) {
	if key != "enableoverloadretargeting" {
		return false, nil
	}
	enabled, ok := value.(bool)
	if !ok {
		return false, fmt.Errorf("enableOverloadRetargeting is %v, want a boolean", value)
	}
	opts.SetEnableOverloadRetargeting(enabled)
	return true, nil
}

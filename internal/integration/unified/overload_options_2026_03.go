//fork:base <v2.7.0

package unified

import "go.mongodb.org/mongo-driver/v2/mongo/options"

// setBackpressureOption reports false: the specification's revision of 2026-03-12 has no option besides adaptiveRetries.
func setBackpressureOption(*options.ClientOptions, string, any) (known bool, err error) {
	return false, nil
}

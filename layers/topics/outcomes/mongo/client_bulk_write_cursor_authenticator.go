//fork:base >=v2.9.3

package mongo

import "go.mongodb.org/mongo-driver/v2/x/mongo/driver"

// cursorOptions are the options of the cursor over the results.
func (mb *modelBatches) cursorOptions() driver.CursorOptions {
	return driver.CursorOptions{
		CommandMonitor:        mb.client.monitor,
		Crypt:                 mb.client.cryptFLE,
		ServerAPI:             mb.client.serverAPI,
		Authenticator:         mb.client.authenticator,
		MarshalValueEncoderFn: newEncoderFn(mb.client.bsonOpts, mb.client.registry),
	}
}

//fork:base >=v2.10.0

package driver_test

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/drivertest"
)

// With the limit 0 a command that meets an overload error is not retried, whatever else the error says.
func TestOverloadLimitZero(t *testing.T) {
	labels := bson.A{driver.ErrSystemOverloadedError, driver.ErrRetryableError}
	for name, failure := range map[string]bson.D{
		"error": {{"ok", 0}, {"code", 134}, {"errorLabels", labels}}, // ReadConcernMajorityNotAvailableYet
		"write concern error": {
			{"ok", 1}, {"writeConcernError", bson.D{{"code", 91}}}, {"errorLabels", append(labels, driver.RetryableWriteError)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			sent, kind, mode := 0, driver.Read, driver.RetryContext
			if name != "error" {
				kind = driver.Write
			}
			err := driver.Operation{
				CommandFn: func(dst []byte, _ description.SelectedServer) ([]byte, error) {
					sent++
					return bsoncore.AppendInt32Element(dst, "command", 1), nil
				},
				Database:   "db",
				Deployment: drivertest.NewMockDeployment(failure, bson.D{{"ok", 1}}),
				Type:       kind,
				RetryMode:  &mode,
			}.Execute(context.Background())
			assert.NotNil(t, err)
			assert.Equal(t, 1, sent, "commands")
		})
	}
}

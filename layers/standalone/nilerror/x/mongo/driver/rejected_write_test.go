//fork:base <v2.9.0

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

// A write that the server rejects fails, also if it says that nothing was written.
func TestRejectedWriteFails(t *testing.T) {
	labels := bson.A{driver.NoWritesPerformed}
	for name, reply := range map[string]bson.D{
		"error":               {{"ok", 0}, {"code", 462}, {"errorLabels", labels}},
		"write concern error": {{"ok", 1}, {"writeConcernError", bson.D{{"code", 91}}}, {"errorLabels", labels}},
	} {
		t.Run(name, func(t *testing.T) {
			err := driver.Operation{
				CommandFn: func(dst []byte, _ description.SelectedServer) ([]byte, error) {
					return bsoncore.AppendInt32Element(dst, "insert", 1), nil
				},
				Database:   "db",
				Deployment: drivertest.NewMockDeployment(reply),
				Type:       driver.Write,
			}.Execute(context.Background())
			assert.NotNil(t, err)
		})
	}
}

//fork:base >=v2.10.0

package driver_test

import (
	"context"
	"testing"
	"testing/synctest"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/drivertest"
)

// Once a command has met an overload error, MaxAdaptiveRetries limits its retries, whatever the later errors are.
func TestOverloadLimitOfLaterErrors(t *testing.T) {
	for _, tt := range []struct {
		name  string
		mode  driver.RetryMode
		limit uint
		want  int
	}{
		{name: "later errors have no limit", mode: driver.RetryContext, limit: 2, want: 3},
		{name: "later errors have a lower limit", mode: driver.RetryOncePerCommand, limit: 3, want: 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				labels := bson.A{driver.ErrSystemOverloadedError, driver.ErrRetryableError}
				replies := []bson.D{{{"ok", 0}, {"code", 462}, {"errorLabels", labels}}}
				for i := 0; i < 10; i++ {
					replies = append(replies, bson.D{{"ok", 0}, {"code", 134}}) // ReadConcernMajorityNotAvailableYet
				}
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				sent := 0
				err := driver.Operation{
					CommandFn: func(dst []byte, _ description.SelectedServer) ([]byte, error) {
						if sent++; sent == len(replies) {
							cancel()
						}
						return bsoncore.AppendInt32Element(dst, "find", 1), nil
					},
					Database:           "db",
					Deployment:         drivertest.NewMockDeployment(replies...),
					Type:               driver.Read,
					RetryMode:          &tt.mode,
					MaxAdaptiveRetries: tt.limit,
				}.Execute(ctx)
				assert.NotNil(t, err)
				assert.Equal(t, tt.want, sent, "commands")
			})
		})
	}
}

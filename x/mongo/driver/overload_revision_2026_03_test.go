//fork:base <v2.7.0

package driver_test

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// TestExecuteWithoutAPolicy is about commands that are exempt, and a server that rejects one with an error that reads are retried after
// in any case: there is no policy to ask.
func TestExecuteWithoutAPolicy(t *testing.T) {
	s := scripted.New(t, scripted.Failure(91, driver.ErrSystemOverloadedError, driver.ErrRetryableError), scripted.OK())
	s.Policy = nil
	require.NoError(t, s.Execute(context.Background(), s.Read()))
	assert.Nil(t, s.Slept)
}

//fork:base <v2.7.0

package driver_test

import (
	"context"
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
)

// TestRetryErrorOfExemptCommands: there is none.
func TestRetryErrorOfExemptCommands(t *testing.T) {
	s := scripted.New(t, scripted.ShuttingDown(), scripted.ShuttingDown())
	s.Policy = nil
	var retries *event.RetryError
	assert.False(t, errors.As(s.Execute(context.Background(), s.Read()), &retries))
}

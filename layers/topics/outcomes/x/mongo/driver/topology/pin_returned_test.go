package topology

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
)

func TestPinReturnedConnection(t *testing.T) {
	assert.Equal(t, errPinReturned, (&Connection{}).PinToCursor())
}

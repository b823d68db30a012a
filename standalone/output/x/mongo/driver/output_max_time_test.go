package driver

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
)

// An aggregate that writes opens no cursor whose life maxTimeMS would limit.
func TestMaxTimeOfAnOutputStage(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	for _, writes := range []bool{false, true} {
		maxTimeMS, err := Operation{OmitMaxTimeMS: true, IsOutputAggregate: writes}.calculateMaxTimeMS(ctx, 0, "")
		assert.NoError(t, err)
		assert.Equal(t, writes, maxTimeMS > 0)
	}
}

package driver

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
)

// TestRunWithoutLayers: it is admitted, withholds no attempt, leaves no tokens to others, and changes no verdict and no error.
func TestRunWithoutLayers(t *testing.T) {
	ctx, failed, verdict := context.Background(), errors.New("failed"), retry.Verdict{Retry: true, Backoff: time.Second}
	ex := &operationRun{op: Operation{Deployment: SingleServerDeployment{}}}
	var without gate = ungated{ex}
	assert.Equal(t, ex.op.Deployment, without.deployment(ctx))
	assert.False(t, without.withheld(nil))
	assert.Equal(t, 0.0, without.reserve())
	assert.Equal(t, verdict, without.verdict(nil, verdict))
	assert.True(t, admitted{}.enters())
	assert.ErrorIs(t, unwatched{}.finished(ctx, failed), failed)
}

package backpressure

import (
	"context"
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
)

func TestInterruption(t *testing.T) {
	failed := errors.New("the command failed")
	const when = "no time for a retry"
	tests := map[string]Interruption{
		"the command failed: no time for a retry: context canceled": {Err: failed, When: when, Cause: context.Canceled},
		"no time for a retry: context canceled":                     {When: when, Cause: context.Canceled},
		"context canceled":                                          {Err: failed, Cause: context.Canceled},
	}
	for want, interruption := range tests {
		assert.Equal(t, want, interruption.Error())
		assert.True(t, errors.Is(interruption, context.Canceled))
		assert.Equal(t, interruption.Err != nil, errors.Is(interruption, failed))
	}
	other := errors.New("all writes failed")
	around := tests["context canceled"].Around(other)
	assert.True(t, errors.Is(around, other) && errors.Is(around, context.Canceled) && !errors.Is(around, failed))

	// The exceptions hold slices.
	exception := driverException{labels: []string{"a"}}
	one, same := Interruption{Err: exception, Cause: context.Canceled}, Interruption{Err: exception, Cause: context.Canceled}
	assert.False(t, errors.Is(one, same), "compared")
}

type driverException struct{ labels []string }

func (driverException) Error() string { return "" }

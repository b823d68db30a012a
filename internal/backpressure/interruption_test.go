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
	first := Interruption{Err: driverException{labels: []string{"a"}}, Cause: context.Canceled}
	again := first.Around(driverException{labels: []string{"b"}}).Around(driverException{labels: []string{"c"}})
	for label, want := range map[string]bool{"a": true, "b": false, "c": true} {
		assert.Equal(t, want, again.HasErrorLabel(label), "the labels of the first error, and of the last")
	}

	// The exceptions hold slices.
	exception := driverException{labels: []string{"a"}}
	one, same := Interruption{Err: exception, Cause: context.Canceled}, Interruption{Err: exception, Cause: context.Canceled}
	assert.False(t, errors.Is(one, same), "compared")
}

// TestEndOfACaller is about a command whose context, or whose caller's, has ended.
func TestEndOfACaller(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, contexts := range [][2]context.Context{{ended, nil}, {ended, context.Background()}, {context.Background(), ended}} {
		assert.Equal(t, context.Canceled, Purpose{Caller: contexts[1]}.Err(contexts[0]))
	}
	assert.NoError(t, Purpose{Caller: context.Background()}.Err(context.Background()))
}

type driverException struct{ labels []string }

func (driverException) Error() string { return "" }

func (e driverException) HasErrorLabel(label string) bool {
	for _, has := range e.labels {
		if has == label {
			return true
		}
	}
	return false
}

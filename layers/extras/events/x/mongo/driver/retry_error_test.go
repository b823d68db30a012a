package driver_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// batchedWrite returns a write in two batches.
func batchedWrite(s *scripted.Script) driver.Operation {
	op := s.Write()
	op.Batches = &driver.Batches{Identifier: "documents", Documents: documents(3)}
	return op
}

func TestRetryErrorInterruptedBackoff(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := scripted.New(t, scripted.Rejected())
	s.Policy.Clock = &steppingClock{Clock: s, step: 7 * ms}
	s.OnSleep = cancel

	err := s.Execute(ctx, s.Write())
	retries := scripted.As[*event.RetryError](t, err)
	assert.Equal(t, &event.RetryError{Attempts: 1, Backoff: 7 * ms, Reason: event.RetryReasonContextDone}, retries)
	assert.True(t, errors.Is(err, context.Canceled))
}

func TestRetryErrorMessage(t *testing.T) {
	assert.EqualError(t, &event.RetryError{Attempts: 6, Retries: 5, Backoff: 1550 * time.Millisecond, Reason: event.RetryReasonLimit},
		"no further retry after 6 attempts and 1.55s of backoff: limit")
	assert.EqualError(
		t,
		&event.RetryError{Attempts: 3, Backoff: 150*ms + 400*time.Microsecond},
		"no further retry after 3 attempts and 150ms of backoff: executed",
	)
}

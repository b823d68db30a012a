package driver_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

func TestRetryError(t *testing.T) {
	overloadedBatch := then([]any{scripted.OK()}, scripted.Repeat(6, scripted.Rejected())...)

	tests := []struct {
		name    string
		op      func(*scripted.Script) driver.Operation
		off     bool // retryReads and retryWrites
		replies []any
		want    *event.RetryError
	}{
		{name: "limit", op: (*scripted.Script).Write, off: false, replies: scripted.Repeat(6, scripted.Overloaded()),
			want: &event.RetryError{Attempts: 6, Retries: 5, Backoff: 1550 * ms, Reason: event.RetryReasonLimit}},
		{name: "the error that may have written", op: (*scripted.Script).Write, off: false,
			replies: then([]any{scripted.ShuttingDown()}, scripted.Repeat(5, scripted.Rejected())...),
			want:    &event.RetryError{Attempts: 6, Retries: 5, Backoff: 1500 * ms, Reason: event.RetryReasonLimit}},
		{name: "a plain retryable read", op: (*scripted.Script).Read, replies: []any{io.ErrUnexpectedEOF, io.ErrUnexpectedEOF},
			want: &event.RetryError{Attempts: 2, Retries: 1, Reason: event.RetryReasonLimit}},
		{name: "option off", op: (*scripted.Script).Command, off: true, replies: []any{scripted.Overloaded()},
			want: &event.RetryError{Attempts: 1, Reason: event.RetryReasonOptionOff}},
		{name: "label missing", op: (*scripted.Script).Read,
			replies: []any{scripted.Failure(473, driver.ErrSystemOverloadedError)},
			want:    &event.RetryError{Attempts: 1, Reason: event.RetryReasonLabelMissing}},
		{name: "another error after a retry", op: (*scripted.Script).Write,
			replies: []any{scripted.Overloaded(), scripted.Failure(1)},
			want:    &event.RetryError{Attempts: 2, Retries: 1, Backoff: 50 * ms, Reason: event.RetryReasonNotRetryable}},
		{name: "a batch", op: batchedWrite, off: false, replies: overloadedBatch,
			want: &event.RetryError{Attempts: 7, Retries: 5, Backoff: 1550 * ms, Reason: event.RetryReasonLimit}},

		{name: "an error that has nothing to do with retries", op: (*scripted.Script).Write, replies: []any{scripted.Failure(1)}},
		{name: "write errors", op: (*scripted.Script).Write, replies: []any{scripted.Overloaded(), writeError}},
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			s := scripted.New(t, tt.replies...)
			s.Policy.RetryReads, s.Policy.RetryWrites = !tt.off, !tt.off
			err := s.Execute(context.Background(), tt.op(s))
			require.Error(t, err)
			if batches, ok := err.(driver.BatchesError); ok {
				assert.Equal(t, batches.Err, batches.Outcomes[0].Err)
			}
			err = errorOf(err)

			var retries *event.RetryError
			assert.Equal(t, tt.want != nil, errors.As(err, &retries))
			assert.Equal(t, tt.want, retries)
		})
	}
}

// batchedWrite returns a write in two batches.
func batchedWrite(s *scripted.Script) driver.Operation {
	op := s.Write()
	op.Batches = &driver.Batches{Identifier: "documents", Documents: documents(3)}
	return op
}

func TestRetryErrorChangesNothingElse(t *testing.T) {
	t.Run("type and what it wraps", func(t *testing.T) {
		for name, replies := range map[string][]any{
			"command error": scripted.Repeat(6, scripted.Overloaded()),
			"network error": {io.ErrUnexpectedEOF, io.ErrUnexpectedEOF},
		} {
			s := scripted.New(t, replies...)
			err := s.Execute(context.Background(), s.Read())
			with, ok := err.(driver.Error)
			require.True(t, ok, "%s: got %T, want a driver.Error", name, err)

			without := driver.Error{
				Code:    with.Code,
				Message: with.Message,
				Labels:  with.Labels,
				Name:    with.Name,
				Wrapped: with.Wrapped,
				Raw:     with.Raw,
			}
			var retries *event.RetryError
			require.True(t, errors.As(err, &retries))
			require.False(t, errors.As(without, &retries))
			want := without.Error()
			if name == "command error" {
				want += " (" + retries.Error() + ")"
			}
			assert.Equal(t, want, err.Error())
			assert.True(t, errors.Unwrap(err) == without.Wrapped, "%s wraps %v", name, errors.Unwrap(err))
		}
	})
	t.Run("comparable errors stay equal", func(t *testing.T) {
		closed := establishmentError{server: "a:27017", cause: io.EOF}
		s := scripted.New(t, scripted.Repeat(6, closed)...)
		err := s.Execute(context.Background(), s.Read())
		assert.True(t, err == error(closed), "got %#v", err)
	})
}

// TestRetryErrorMeetsItsOwnClearing: a retry that finds the pool being cleared for its own failure is no attempt.
func TestRetryErrorMeetsItsOwnClearing(t *testing.T) {
	failure := unauthenticated{1}
	s := scripted.New(t, failure, clearedFor{failure}, scripted.Overloaded(), scripted.Failure(1))
	err := s.Execute(context.Background(), s.Read())
	var retries *event.RetryError
	require.True(t, errors.As(err, &retries))
	assert.Equal(t, 3, retries.Attempts)
	assert.Equal(t, 2, retries.Retries)
}

func TestRetryErrorInterruptedBackoff(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := scripted.New(t, scripted.Rejected())
	s.Policy.Clock = &steppingClock{Clock: s, step: 7 * ms}
	s.OnSleep = cancel

	err := s.Execute(ctx, s.Write())
	var retries *event.RetryError
	require.True(t, errors.As(err, &retries))
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

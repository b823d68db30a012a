package driver_test

import (
	"context"
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// unauthenticated is a connection that the server closed during authentication.
type unauthenticated struct{ id int }

func (unauthenticated) Error() string                  { return "closed" }
func (unauthenticated) ServerAddress() address.Address { return "a:27017" }
func (unauthenticated) HasErrorLabel(label string) bool {
	return label == driver.NetworkError
}
func (unauthenticated) Unwrap() error { return driver.Error{Labels: []string{driver.NetworkError}} }

// clearedFor is a pool that was cleared for a failure.
type clearedFor struct{ failure unauthenticated }

func (clearedFor) Error() string   { return "cleared" }
func (clearedFor) Retryable() bool { return true }
func (c clearedFor) ClearedFor(failure error) bool {
	var failed unauthenticated
	return errors.As(failure, &failed) && failed == c.failure
}

// TestExecuteMeetsItsOwnClearing is about a retry that comes before the pool is cleared for the failure of the first attempt: that is not
// a second failure.
func TestExecuteMeetsItsOwnClearing(t *testing.T) {
	one, other := unauthenticated{1}, unauthenticated{2}
	tests := []struct {
		name    string
		replies []any
		ok      bool
	}{
		{name: "once", replies: []any{one, clearedFor{one}, scripted.OK()}, ok: true},
		{name: "another command's", replies: []any{one, clearedFor{other}}},
		{name: "twice", replies: []any{one, clearedFor{one}, clearedFor{one}}},
		{name: "before it failed itself", replies: []any{clearedFor{one}, one}},
		{name: "and fails again", replies: []any{one, clearedFor{one}, other}},
		{name: "after another failure", replies: []any{one, scripted.Overloaded(), clearedFor{one}, scripted.Overloaded(),
			scripted.OK()}, ok: true},
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			for _, op := range []func(*scripted.Script) driver.Operation{(*scripted.Script).Read, (*scripted.Script).Write} {
				s := scripted.New(t, tt.replies...)
				err := s.Execute(context.Background(), op(s))
				assert.Equal(t, tt.ok, err == nil, "got %v", err)
				assert.Equal(t, len(tt.replies), len(s.Selected))
			}
		})
	}
}

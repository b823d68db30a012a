package topology

import (
	"errors"
	"io"
	"testing"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
)

func TestConnectionErrorAfterRetries(t *testing.T) {
	want := &event.RetryError{Attempts: 6, Retries: 5}
	plain := ConnectionError{ConnectionID: "1", Wrapped: io.EOF, init: true, server: "a:27017", overloaded: true}
	described := plain.After(want)
	assert.Equal(t, want, scripted.As[*event.RetryError](t, described))
	assert.IsType(t, plain, described)
	assert.Equal(t, plain.Error(), described.Error())
	assert.True(t, errors.Is(described, io.EOF))
	assert.False(t, errors.As(plain, &want), "the original has been changed")
	assert.True(t, ErrConnectionClosed.After(want) == error(ErrConnectionClosed), "any other error than that of an overload")
}

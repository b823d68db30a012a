package topology

import (
	"errors"
	"io"
	"testing"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
)

func TestConnectionErrorAfterRetries(t *testing.T) {
	want := &event.RetryError{Attempts: 6, Retries: 5}
	var retries *event.RetryError

	t.Run("an overload error", func(t *testing.T) {
		plain := ConnectionError{ConnectionID: "1", Wrapped: io.EOF, init: true, server: "a:27017", overloaded: true}
		described := plain.After(want)
		require.True(t, errors.As(described, &retries))
		assert.Equal(t, want, retries)

		_, ok := described.(ConnectionError)
		assert.True(t, ok, "got %T, want a ConnectionError", described)
		assert.Equal(t, plain.Error(), described.Error())
		assert.True(t, errors.Is(described, io.EOF))
		assert.False(t, errors.As(plain, &retries), "the original has been changed")
	})
	t.Run("any other stays equal", func(t *testing.T) {
		assert.True(t, ErrConnectionClosed.After(want) == error(ErrConnectionClosed))
	})
}

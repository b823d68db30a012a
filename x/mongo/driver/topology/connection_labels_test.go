//fork:base <v2.7.0

package topology

import (
	"errors"
	"net"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// labelled reports whether the error of a connection gets the labels of a retryable overload error.
func labelled(err error) bool { return mayBeOverload(ConnectionError{Wrapped: err}) }

func TestUnknownErrorsAreNoOverload(t *testing.T) {
	assert.False(t, labelled(errLoadBalancedStateMismatch))
	assert.False(t, labelled(errors.New("other")))
}

func TestMonitorsConnectionHasNoOverloadLabels(t *testing.T) {
	err := establish(t, nil, func(net.Conn) {})
	var connErr ConnectionError
	require.True(t, errors.As(err, &connErr), "got %T (%v), want a ConnectionError", err, err)
	assert.False(t, connErr.HasErrorLabel(driver.ErrSystemOverloadedError))
	assert.Empty(t, connErr.ServerAddress())
}

// Package fronttest serves fronts without a backend to the tests of their handlers.
package fronttest

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/lab/internal/proxy"
)

// Serve returns the address of a front that ends with the test. Its handlers have to answer every request.
func Serve(t testing.TB, config proxy.Config) string {
	t.Helper()
	config.Backend = proxy.Backend{Network: "tcp", Address: "127.0.0.1:1"}
	front, err := proxy.New(config)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- front.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-served)
	})
	return listener.Addr().String()
}

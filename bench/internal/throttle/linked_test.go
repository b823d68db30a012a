package throttle

import (
	"sync"
	"testing"
	_ "unsafe" // for go:linkname

	"github.com/stretchr/testify/assert"
	_ "google.golang.org/grpc" // has the throttler

	"mongofork/internal/retry"
)

// What a command does with the bucket, in tenths of a token.
const (
	tenthsOfSuccess = 1
	tenthsOfRetry   = 10
)

//go:linkname bucketConsume mongofork/internal/retry.(*TokenBucket).consume
func bucketConsume(*retry.TokenBucket) bool

//go:linkname bucketDeposit mongofork/internal/retry.(*TokenBucket).deposit
func bucketDeposit(b *retry.TokenBucket, tenths int64)

// grpcThrottler has the fields of grpc-go's type, in its order.
type grpcThrottler struct {
	max, threshold, ratio float64
	_                     sync.Mutex
	tokens                float64
}

func newGRPCThrottler(tokens float64) *grpcThrottler {
	return &grpcThrottler{max: tokens, threshold: tokens / 2, ratio: 0.1, tokens: tokens}
}

//go:linkname grpcThrottle google.golang.org/grpc.(*retryThrottler).throttle
func grpcThrottle(*grpcThrottler) bool

//go:linkname grpcSucceeded google.golang.org/grpc.(*retryThrottler).successfulRPC
func grpcSucceeded(*grpcThrottler)

func TestLinkedBucket(t *testing.T) {
	b := retry.NewTokenBucket()
	assert.Equal(t, 1000.0, b.Tokens())
	assert.True(t, bucketConsume(b))
	assert.Equal(t, 999.0, b.Tokens())
	bucketDeposit(b, tenthsOfSuccess)
	assert.Equal(t, 999.1, b.Tokens())
}

func TestLinkedThrottler(t *testing.T) {
	throttler := newGRPCThrottler(10)
	for failures := 1; failures < 5; failures++ {
		assert.False(t, grpcThrottle(throttler))
	}
	assert.True(t, grpcThrottle(throttler), "half of the tokens are left")
	assert.Equal(t, 5.0, throttler.tokens)
	grpcSucceeded(throttler)
	assert.Equal(t, 5.1, throttler.tokens)
}

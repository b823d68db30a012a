package throttle

import (
	"testing"
	_ "unsafe" // for go:linkname

	"github.com/stretchr/testify/assert"

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

func TestLinkedBucket(t *testing.T) {
	b := retry.NewTokenBucket()
	assert.Equal(t, 1000.0, b.Tokens())
	assert.True(t, bucketConsume(b))
	assert.Equal(t, 999.0, b.Tokens())
	bucketDeposit(b, tenthsOfSuccess)
	assert.Equal(t, 999.1, b.Tokens())
}

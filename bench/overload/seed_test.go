//go:build go1.26

package overload

import (
	"testing"
	"testing/cryptotest"
)

// seed makes all that is drawn from crypto/rand reproducible, and thereby most drivers' jitter.
func seed(t *testing.T, n uint64) {
	t.Helper()
	cryptotest.SetGlobalRandom(t, n)
}

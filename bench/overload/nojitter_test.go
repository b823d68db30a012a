//go:build !jitter

package overload

// seedJitter does nothing: each client seeds its own generator, with what seed makes reproducible.
func seedJitter(uint64) {}

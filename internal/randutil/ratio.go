//fork:base >=v2.7.0

package randutil

// Jitter returns a pseudo-random ratio in [0.0, 1.0), or what the function returns that was set by SetJitterForTesting.
func Jitter() float64 { return jitter() }

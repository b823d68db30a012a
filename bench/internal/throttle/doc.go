// Package throttle benchmarks the token bucket of mongofork/internal/retry against what else limits retries in Go: the retry
// quota of aws-sdk-go-v2, and golang.org/x/time/rate. grpc-go's retry throttler would be another; it is not exported.
//
// The bucket's methods are unexported, too, and benchmarks in its own package could not be compared with the others. So
// linked_test.go declares them again and has the linker resolve them; each is called, and none is inlined, which penalizes the
// shortest. A test checks that the declarations fit. The benchmarks of the bucket's own package show the fork's real cost.
package throttle

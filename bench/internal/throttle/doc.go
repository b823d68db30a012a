// Package throttle benchmarks the token bucket of mongofork/internal/retry against what else limits retries in Go:
// grpc-go's retry throttler, the retry quota of aws-sdk-go-v2, and golang.org/x/time/rate.
//
// The bucket's methods and grpc-go's throttler are unexported, and benchmarks of their own packages could not stand side
// by side. So linked_test.go declares them again and has the linker resolve them; each is called, and none is inlined, which
// is to the disadvantage of the shortest. There are tests that the declarations fit. The benchmarks of the bucket's own package
// tell what the fork pays.
package throttle

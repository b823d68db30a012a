//go:build go1.21

package topology

import "context"

// afterFunc calls f in a goroutine of its own once the context has ended, unless it is stopped before.
func afterFunc(ctx context.Context, f func()) (stop func() bool) {
	return context.AfterFunc(ctx, f)
}

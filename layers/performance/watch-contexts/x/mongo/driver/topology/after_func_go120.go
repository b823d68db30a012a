//fork:base <v2.10.0

//go:build !go1.21

package topology

import "context"

// afterFunc returns nil, with which watch starts a goroutine: there is no context.AfterFunc before Go 1.21.
func afterFunc(context.Context, func()) (stop func() bool) { return nil }

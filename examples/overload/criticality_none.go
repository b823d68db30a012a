//go:build !criticality

package main

import "context"

// background marks nothing: upstream's driver has no classes.
func background(ctx context.Context) context.Context { return ctx }

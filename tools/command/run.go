package command

import "context"

// RunFunc runs a command in dir with env added to the environment and
// returns its standard output.
type RunFunc func(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error)

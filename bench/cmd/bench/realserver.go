package main

import (
	"context"
	"errors"
	"fmt"

	"mongofork/tools/rig/server"
)

// onServer lets something be measured on a real server: the one that $MONGODB_URI names, or one that is started. It says so if
// there is none.
func (c common) onServer(ctx context.Context, console console, config server.Config, measure func(uri, name string) error) (err error) {
	config.Root, config.Progress = c.Root, console.Progress
	found, err := server.Open(ctx, config)
	if errors.Is(err, server.ErrUnavailable) {
		console.progressf("nothing is measured on a real server: %v", err)
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, found.Close()) }()
	return measure(found.URI, fmt.Sprintf("%s from %s", found.Version, found.Origin))
}

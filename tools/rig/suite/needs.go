package suite

import (
	"context"
	"errors"
)

// once calls get unless an earlier call for the same thing found that it is not available here. It reports that on the progress
// output.
func (r *Rig) once(thing string, get func() error) error {
	if err, known := r.absent.Load(thing); known {
		return err.(error) // which is all that is stored
	}
	err := get()
	if errors.Is(err, ErrUnavailable) {
		r.Progress.Printf("      %v", err)
		r.absent.Store(thing, err)
	}
	return err
}

// project returns the PROJECT_DIRECTORY for a revision's tests.
func (r *Rig) project(ctx context.Context, revision string) (project string, err error) {
	err = r.once("specifications "+revision, func() error {
		project, err = r.Specifications(ctx, revision)
		return err
	})
	return project, err
}

// server finds or starts a server in the given way, which has a name.
func (r *Rig) server(ctx context.Context, name string, open func(context.Context) (*Server, error)) (server *Server, err error) {
	err = r.once(name, func() error {
		server, err = open(ctx)
		return err
	})
	return server, err
}

// usesPinned reports whether tests that need a server run on the pinned ones.
func (r *Rig) usesPinned(ctx context.Context) bool {
	r.choosing.Do(func() { r.choice = r.Pinned != nil && r.Pinned(ctx) })
	return r.choice
}

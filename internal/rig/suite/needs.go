package suite

import (
	"context"
	"errors"
)

// once calls get unless an earlier call for the same thing found that it is not
// available here. That is also said on the progress output.
func (r *Rig) once(thing string, get func() error) error {
	if err := r.absent[thing]; err != nil {
		return err
	}
	err := get()
	if errors.Is(err, ErrUnavailable) {
		r.Progress.Printf("      %v", err)
		if r.absent == nil {
			r.absent = map[string]error{}
		}
		r.absent[thing] = err
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

// server finds or starts a server, in the way that is given.
func (r *Rig) server(ctx context.Context, open func(context.Context) (*Server, error)) (server *Server, err error) {
	err = r.once("server", func() error {
		server, err = open(ctx)
		return err
	})
	return server, err
}

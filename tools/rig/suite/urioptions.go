package suite

import (
	"context"

	"mongofork/tools/connstring"
)

// UseURIOptions adds options, such as "adaptiveThrottling=true", to the connection strings of the servers that the suite "spec"
// opens. Call it before any suite runs.
func (r *Rig) UseURIOptions(options string) {
	open, openPinned := r.OpenServer, r.OpenPinned
	r.OpenServer = func(ctx context.Context) (*Server, error) { return withURIOptions(options)(open(ctx)) }
	r.OpenPinned = func(ctx context.Context, name string) (*Server, error) {
		return withURIOptions(options)(openPinned(ctx, name))
	}
}

func withURIOptions(options string) func(*Server, error) (*Server, error) {
	return func(server *Server, err error) (*Server, error) {
		if err != nil {
			return nil, err
		}
		changed := *server
		changed.URI = connstring.With(server.URI, options)
		return &changed, nil
	}
}

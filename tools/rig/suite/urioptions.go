package suite

import (
	"context"

	"mongofork/tools/connstring"
)

// UseURIOptions lets the clients of the tests have more options, such as "adaptiveThrottling=true", in the connection strings of
// the servers that the suite "spec" opens. It is called before any suite is run.
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

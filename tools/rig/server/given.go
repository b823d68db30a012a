package server

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// openGiven uses a server that is already running.
func openGiven(ctx context.Context, cfg Config) (*Server, error) {
	uri := cfg.Getenv("MONGODB_URI")
	if uri == "" {
		return nil, absent(errors.New("MONGODB_URI is not set"))
	}
	if err := checkGiven(uri, cfg.BehindLab); err != nil {
		return nil, err
	}
	version, err := awaitPrimary(ctx, cfg.StartTimeout, uri)
	if err != nil {
		return nil, fmt.Errorf("the server that MONGODB_URI names does not answer as a primary; "+
			"start it, or unset MONGODB_URI to have one started: %w", err)
	}
	return &Server{URI: uri, Version: version, Origin: Given}, nil
}

// checkGiven refuses, without asking any server, an invalid connection string and, for the lab, one with several hosts or with
// credentials: the lab is in front of one server, and its clients know no password.
func checkGiven(uri string, behindLab bool) error {
	opts := options.Client().ApplyURI(uri)
	if err := opts.Validate(); err != nil {
		return fmt.Errorf("MONGODB_URI is no connection string such as mongodb://127.0.0.1:27017/; "+
			"correct it, or unset it to have a server started: %w", err)
	}
	switch {
	case !behindLab:
		return nil
	case len(opts.Hosts) != 1:
		return fmt.Errorf("MONGODB_URI names %d hosts; for the lab, which stands before the server, name one host "+
			"and no credentials, or unset it to have a server started", len(opts.Hosts))
	case opts.Auth != nil:
		return errors.New("MONGODB_URI has credentials; for the lab, which stands before the server, name one host " +
			"and no credentials, or unset it to have a server started")
	}
	return nil
}

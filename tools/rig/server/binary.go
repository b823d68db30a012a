package server

import (
	"context"
	"fmt"
)

// MembersBinary returns the path of the mongod with which Open would start members: the one on the PATH, or else the pinned one,
// which it installs if necessary. The error wraps ErrUnavailable if Open would take another server.
func MembersBinary(ctx context.Context, cfg Config) (string, error) {
	cfg = cfg.withDefaults()
	choice := cfg.Getenv("SERVER")
	switch {
	case choice == "uri" || choice == "secantus":
		return "", fmt.Errorf("%w: SERVER=%s has no members of a replica set that could be started here", ErrUnavailable, choice)
	case choice == "" && cfg.Getenv("MONGODB_URI") != "":
		return "", fmt.Errorf("%w: MONGODB_URI names a server, which is no member of a replica set that could be started here", ErrUnavailable)
	case choice == "mongod":
		return InstallMongod(ctx, cfg)
	}
	path, _, err := findMongod(ctx, cfg)
	switch {
	case err == nil:
		return path, nil
	case choice == "path":
		return "", fmt.Errorf("%w: %v", ErrUnavailable, err)
	default:
		return InstallMongod(ctx, cfg)
	}
}

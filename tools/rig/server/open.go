package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// candidate is a possible server.
type candidate struct {
	// name is its name in SERVER.
	name string
	// open opens it. If it is not available here, the error wraps errAbsent and gives a short reason.
	open func(ctx context.Context, cfg Config) (*Server, error)
}

// errAbsent means that a server is not available here; others may be.
var errAbsent = errors.New("not available here")

// absent marks an error that says why a server is not available.
func absent(err error) error { return absence{err} }

// absence is errAbsent with the text of another error, which it does not wrap: a command's exit code in there is not ours.
type absence struct{ why error }

func (a absence) Error() string { return a.why.Error() }

func (absence) Is(target error) bool { return target == errAbsent }

// candidates are the servers in the order of the search.
func candidates() []candidate {
	return []candidate{
		{"uri", openGiven}, {"path", openPath}, {"mongod", openWheel}, {"secantus", openSecantus},
	}
}

// Choices are the values of SERVER.
func Choices() []string {
	var names []string
	for _, c := range candidates() {
		names = append(names, c.name)
	}
	return names
}

// choose returns the servers to search for.
func (c Config) choose(all []candidate) ([]candidate, error) {
	if c.Choice == "" {
		return all, nil
	}
	var names []string
	for _, known := range all {
		if known.name == c.Choice {
			return []candidate{known}, nil
		}
		names = append(names, known.name)
	}
	return nil, fmt.Errorf("SERVER=%s is not available for this; name one of %s, or leave it out to take the first available one",
		c.Choice, strings.Join(names, ", "))
}

// Open finds or starts a server and returns when it answers as a writable primary. The caller must Close it. The error wraps
// ErrUnavailable if there is no server, and nothing to start one with.
func Open(ctx context.Context, cfg Config) (*Server, error) {
	return openFirst(ctx, cfg.withDefaults(), candidates())
}

// openFirst opens the first available candidate.
func openFirst(ctx context.Context, cfg Config, all []candidate) (*Server, error) {
	chosen, err := cfg.choose(all)
	if err != nil {
		return nil, err
	}
	var reasons []string
	for _, c := range chosen {
		s, err := c.open(ctx, cfg)
		if err == nil {
			cfg.sayWhat(s, reasons)
			return s, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !errors.Is(err, errAbsent) {
			return nil, err
		}
		if c.name != "uri" || len(chosen) == 1 { // an unset MONGODB_URI is not worth a message
			reasons = append(reasons, err.Error())
		}
	}
	return nil, fmt.Errorf("%w: %s: install mongod >= %s or Python %s, or set MONGODB_URI",
		ErrUnavailable, strings.Join(reasons, "; "), oldestMongod, pythonRange)
}

// sayWhat reports in one line which server it is, and why none of those before it.
func (c Config) sayWhat(s *Server, reasons []string) {
	why := ""
	if len(reasons) > 0 {
		why = " (" + strings.Join(reasons, "; ") + ")"
	}
	c.progressf("%v: version %s, %s%s", s.Origin, s.Version, s.Form, why)
}

package suite

import (
	"context"
	"errors"
	"strings"

	"mongofork/tools/rig/report"
)

// program is a program that is built with the fork, tests it on a server, and reports its findings.
type program struct {
	open func(context.Context) (*Server, error)
	// name is what open is for.
	name string
	// run returns the program's output, and an error if anything is wrong.
	run func(ctx context.Context, driver string, server *Server) (string, error)
	// rerun is the command that runs it again.
	rerun string
}

// soak runs the soak for an application with the fork. It is one case.
func (r *Rig) soak(ctx context.Context, s *report.Suite) error {
	return r.program(ctx, s, program{
		open: r.openMembers, name: "members for the soak", run: r.Soak,
		rerun: "go run ./tools/cmd/rig soak --fork-only, with the --seed that the output begins with",
	})
}

// openMembers returns real members, or else a server from which the lab simulates some.
func (r *Rig) openMembers(ctx context.Context) (*Server, error) {
	members, err := r.OpenMembers(ctx)
	if errors.Is(err, ErrUnavailable) {
		return r.OpenBehindLab(ctx)
	}
	return members, err
}

// limits exposes an application with the fork to a server's own limits. It is one case.
func (r *Rig) limits(ctx context.Context, s *report.Suite) error {
	return r.program(ctx, s, program{open: r.OpenLimitable, name: "server with limits", run: r.Limits, rerun: "make test-limits"})
}

// program runs a program.
func (r *Rig) program(ctx context.Context, s *report.Suite, p program) (err error) {
	t, err := r.build(ctx)
	if err != nil {
		return err
	}
	server, err := r.server(ctx, p.name, p.open)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	s.Note = server.Name
	output, err := p.run(ctx, t.fork, server)
	if err != nil {
		s.Failures = append(s.Failures, report.Failure{
			Name: s.Name, What: err.Error(), Output: lastLines(strings.Split(output, "\n")), Rerun: p.rerun,
		})
		return nil
	}
	s.Passed++
	s.Remarks = append(s.Remarks, strings.TrimSpace(output))
	return nil
}

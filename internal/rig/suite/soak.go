package suite

import (
	"context"
	"errors"
	"strings"

	"mongofork/internal/rig/report"
)

// soak makes everything go wrong for an application with the fork. It is one case.
func (r *Rig) soak(ctx context.Context, s *report.Suite) (err error) {
	t, err := r.build(ctx)
	if err != nil {
		return err
	}
	server, err := r.server(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	s.Note = server.Name
	output, err := r.Soak(ctx, t.fork, server.URI)
	if err != nil {
		s.Failures = append(s.Failures, report.Failure{
			Name: s.Name, What: err.Error(), Output: lastLines(strings.Split(output, "\n")),
			Rerun: "go run ./cmd/rig soak --fork-only, with the --seed that the output begins with",
		})
		return nil
	}
	s.Passed++
	s.Remarks = append(s.Remarks, strings.TrimSpace(output))
	return nil
}

package suite

import (
	"context"

	"mongofork/tools/gotest"
	"mongofork/tools/rig/report"
)

// Forms are the names of the forms of the replica set for upstream's integration tests.
func Forms() []string { return []string{"plain", "secured"} }

// Integration runs all of upstream's tests that need a server, in both trees, each on its own replica set of three: plain, and
// with TLS and users.
func (r *Rig) Integration(ctx context.Context, forms []string) []report.Suite {
	var suites []report.Suite
	for i, form := range forms {
		r.Progress.Step(i+1, len(forms), form)
		suites = append(suites, r.timed("integration "+form, func(s *report.Suite) error {
			return r.upstreamIntegration(ctx, s, form)
		}))
	}
	return suites
}

func (r *Rig) upstreamIntegration(ctx context.Context, s *report.Suite, form string) error {
	t, project, err := r.specSetup(ctx, r.Upstream)
	if err != nil {
		return err
	}
	return r.compare(ctx, s, t, comparison{
		list: "integration",
		// The packages share the server and its fail points, so they run one after the other.
		command: gotest.Command{
			Flags: moduleFlags("-p=1"), Timeout: specTimeout, Packages: []string{"./" + integrationFolder + "/..."},
		},
		open: func(ctx context.Context) ([]string, func() error, error) {
			server, err := r.server(ctx, "server "+form, func(ctx context.Context) (*Server, error) { return r.OpenForm(ctx, form) })
			if err != nil {
				return nil, nil, err
			}
			return append([]string{"PROJECT_DIRECTORY=" + project}, server.Env...), server.Close, nil
		},
		covers:   func(string) bool { return true },
		rerun:    append([]string{"go run ./tools/cmd/rig server " + formFlags(form) + "-- env"}, projectVariable(r.Upstream)),
		parallel: true,
	})
}

// formFlags are the flags of "rig server" for a form.
func formFlags(form string) string {
	if form == "plain" {
		return "--topology replicaset:3 "
	}
	return "--topology replicaset:3 --tls --users "
}

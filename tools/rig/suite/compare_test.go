package suite

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"mongofork/tools/gotest"
)

// Both trees are tested at the same time, each on a server of its own, unless there is one server for both.
func TestArmsShareNoServer(t *testing.T) {
	for uri, want := range map[string]int{"": 2, "mongodb://user": 1} {
		t.Run("MONGODB_URI="+uri, func(t *testing.T) {
			f := newFixture(t, func(string, gotest.Command) []string {
				return []string{"internal/integration/unified TestUnifiedSpec/crud/a.json/one passed"}
			})
			f.Environ = []string{"MONGODB_URI=" + uri}
			open, most := 0, 0
			f.OpenServer = func(context.Context) (*Server, error) {
				open++
				most = max(most, open)
				return &Server{URI: "mongodb://started", Close: func() error { open--; return nil }}, nil
			}
			f.Run(t.Context(), []string{"spec"}, Options{Revision: f.Upstream})
			assert.Equal(t, want, most, "servers at the same time")
			assert.Zero(t, open)
			for _, run := range f.tests.runs {
				assert.NotContains(t, run.Env, "MONGODB_URI=mongodb://user")
			}
		})
	}
}

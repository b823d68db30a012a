package suite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/drivermod"
	"mongofork/tools/gotest"
)

func TestModules(t *testing.T) {
	f := newFixture(t, func(_ string, c gotest.Command) []string {
		return []string{filepath.Base(c.Dir) + " TestOne passed"}
	})
	for _, folder := range []string{"lab", "contrib/otel", "bench", "lab/testdata/made-up"} {
		require.NoError(t, os.MkdirAll(f.file(folder), 0o755))
		f.write(t, folder+"/go.mod", "module m\n\nrequire "+drivermod.Path+" v2.5.0\n")
	}
	s := f.one(t, "modules", Options{})
	assert.Equal(t, "3 passed, 0 failed, 0 skipped", counts(s))
	var folders []string
	for _, run := range f.tests.runs {
		folder, err := filepath.Rel(f.Root, run.Dir)
		require.NoError(t, err)
		folders = append(folders, filepath.ToSlash(folder))
	}
	assert.Equal(t, []string{"bench", "contrib/otel", "lab"}, folders)
}

func TestSoak(t *testing.T) {
	f := newFixture(t, func(string, gotest.Command) []string { return nil })
	f.Soak = func(_ context.Context, driver string, on *Server) (string, error) {
		assert.Equal(t, "build/v1.0.0", driver)
		assert.Equal(t, "mongodb://behind-lab", on.URI, "there are no members")
		return "seed 1\nno violations\n", nil
	}
	s := f.one(t, "soak", Options{})
	assert.Equal(t, "1 passed, 0 failed, 0 skipped", counts(s))
	assert.Equal(t, []string{"seed 1\nno violations"}, s.Remarks)

	f.Soak = func(context.Context, string, *Server) (string, error) {
		return "seed 2\nlost: 1\n", errors.New("exit status 1")
	}
	s = f.one(t, "soak", Options{})
	assert.Equal(t, "0 passed, 1 failed, 0 skipped", counts(s))
	assert.Contains(t, strings.Join(s.Failures[0].Output, "\n"), "lost: 1")
	assert.Equal(t, f.servers, f.closed)
}

func TestSoakOnMembers(t *testing.T) {
	f := newFixture(t, func(string, gotest.Command) []string { return nil })
	members := &Server{Name: "three real members", Binary: "/there/mongod", Close: func() error { return nil }}
	f.OpenMembers = func(context.Context) (*Server, error) { return members, nil }
	f.Soak = func(_ context.Context, _ string, on *Server) (string, error) {
		assert.Same(t, members, on)
		return "no violations", nil
	}
	s := f.one(t, "soak", Options{})
	assert.Equal(t, "1 passed, 0 failed, 0 skipped", counts(s))
	assert.Equal(t, "three real members", s.Note)
	assert.Zero(t, f.servers, "no server is needed")

	f.OpenMembers = func(context.Context) (*Server, error) { return nil, errors.New("another file than the pinned one") }
	assert.Equal(t, "0 passed, 1 failed, 0 skipped", counts(f.one(t, "soak", Options{})), "what is to be mended is not passed over")
}

func TestLimits(t *testing.T) {
	f := newFixture(t, func(string, gotest.Command) []string { return nil })
	limitable := &Server{URI: "mongodb://limitable", Name: "server 8.2.1", Mongod: true, Close: func() error { return nil }}
	f.OpenLimitable = func(context.Context) (*Server, error) { return limitable, nil }
	f.Limits = func(_ context.Context, driver string, server *Server) (string, error) {
		assert.Equal(t, "build/v1.0.0", driver)
		assert.Same(t, limitable, server)
		return "requests: ok\n", nil
	}
	s := f.one(t, "limits", Options{})
	assert.Equal(t, "1 passed, 0 failed, 0 skipped", counts(s))
	assert.Equal(t, []string{"requests: ok"}, s.Remarks)
	assert.Equal(t, "server 8.2.1", s.Note)

	f.OpenLimitable = func(context.Context) (*Server, error) { return nil, ErrUnavailable }
	assert.Equal(t, "0 passed, 0 failed, 1 skipped", counts(f.one(t, "limits", Options{})))
}

package fork

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// staleSource states the sums of the original module beside changed files, as
// a module cache does that somebody has edited.
type staleSource struct {
	fakeSource
	name, text string
}

func (s staleSource) Module(ctx context.Context, path, version string) (*Module, error) {
	m, err := s.fakeSource.Module(ctx, path, version)
	if err == nil {
		m.Tree[s.name] = []byte(s.text)
	}
	return m, err
}

func TestTamperedModule(t *testing.T) {
	t.Parallel()
	p := builtProject(t, overlayOf("func added() {}\n"))
	original := p.Source.(fakeSource)

	p.Source = staleSource{original, "README.md", "A changed module.\n"}
	err := build(t, p, false)
	require.ErrorContains(t, err, "etc/bases/v2.0.0/fork.lock: the hash of the files in the module cache of example.com/driver/v2@v2.0.0 is h1:")
	require.ErrorContains(t, err, "  fix: go clean -modcache, then run the command again")
	require.Len(t, err, 1)

	p.Source = staleSource{original, "go.mod", "module example.com/driver/v2\n\ngo 1.23\n"}
	err = build(t, p, false)
	require.ErrorContains(t, err, "the hash of the go.mod file of example.com/driver/v2@v2.0.0 is h1:")
	require.ErrorContains(t, err, "the go directive of example.com/driver/v2@v2.0.0 is 1.23, but the lock has 1.19\n  fix: restore the lock from version control; if it is right: go clean -modcache, then run the command again")

	// Another module under the same version: what the go command states differs too.
	changed := upstream(t)
	changed[testBase]["README.md"] = []byte("Another module.\n")
	p.Source = changed
	require.ErrorContains(t, build(t, p, false), "the module hash of example.com/driver/v2@v2.0.0 is h1:")
	require.NoDirExists(t, p.output().Dir)
}

func TestLockForAnotherBase(t *testing.T) {
	t.Parallel()
	p := builtProject(t, overlayOf("func added() {}\n"))
	next := &Project{Root: p.Root, Base: "v2.1.0", Source: p.Source}
	p.put(t, next.LockFile(), p.read(t, p.LockFile()))
	_, err := next.Plan(t.Context())
	require.ErrorContains(t, err, "the lock is for v2.0.0, not for v2.1.0\n  fix: go run ./tools/cmd/mongofork accept --new --base v2.1.0")
}

func TestModuleCacheErrors(t *testing.T) {
	t.Parallel()
	answer := func(out string, err error) ModuleCache {
		return ModuleCache{Run: func(_ context.Context, _ string, env []string, name string, args ...string) ([]byte, error) {
			require.Equal(t, "go mod download -json m@v1.0.0", name+" "+strings.Join(args, " "))
			require.Contains(t, env, "GOWORK=off")
			return []byte(out), err
		}}
	}
	for _, tc := range []struct {
		cache ModuleCache
		want  string
	}{
		{answer(`{"Error": "unknown revision"}`, errors.New("exit status 1")), "module m@v1.0.0 is not available: unknown revision"},
		{answer("", errors.New("no go command")), "module m@v1.0.0 is not available: no go command"},
		{answer("not JSON", nil), "module m@v1.0.0 is not available: unexpected output of go mod download"},
		{answer(`{"Dir": "/nonexistent/module"}`, nil), "module m@v1.0.0 in the module cache: "},
	} {
		_, err := tc.cache.Module(t.Context(), "m", "v1.0.0")
		require.ErrorContains(t, err, tc.want)
	}
}

func TestReadTreeRefusesLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink("elsewhere", filepath.Join(dir, "link")); err != nil {
		t.Skipf("this system has no symbolic links: %v", err)
	}
	_, err := ReadTree(dir)
	require.ErrorContains(t, err, "link is not a regular file")
}

func TestUpstreamThatDoesNotParse(t *testing.T) {
	t.Parallel()
	p := newProject(t, overlayOf("func added() {}\n"))
	p.Source = staleSource{p.Source.(fakeSource), "pool/broken.go", "package pool\n\nfunc {"}
	_, err := p.Plan(t.Context())
	require.ErrorContains(t, err, "upstream's pool/broken.go: ")
}

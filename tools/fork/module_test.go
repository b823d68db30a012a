package fork

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/forktest"
	"mongofork/tools/fork/upstream"
)

// edited is the source of the made-up modules with another content of a file, as a module cache is that somebody has edited.
func edited(t *testing.T, name, text string) upstream.Source {
	return func(ctx context.Context, path, version string) (*upstream.Module, error) {
		source := forktest.Versions(t)
		source[version][name] = []byte(text)
		return source.Module(ctx, path, version)
	}
}

func TestTamperedModule(t *testing.T) {
	t.Parallel()
	p := builtProject(t, overlayOf("func added() {}\n"))
	p.Source = edited(t, "README.md", "A changed module.\n")
	err := build(t, p)
	require.ErrorContains(t, err,
		"etc/bases/v2.0.0/fork.lock: the hash of the files in the module cache of example.com/driver/v2 v2.0.0 is h1:")
	require.ErrorContains(t, err, "  fix: go clean -modcache, then run the command again")
	require.Len(t, err, 1)
	require.NoDirExists(t, p.output().Dir)
}

func TestUpstreamThatDoesNotParse(t *testing.T) {
	t.Parallel()
	p := builtProject(t, overlayOf("func added() {}\n"))
	p.Source = edited(t, "pool/broken.go", "package pool\n\nfunc {")
	_, err := p.Plan(t.Context())
	require.ErrorContains(t, err, "example.com/driver/v2 v2.0.0: pool/broken.go:3:6: ")
}

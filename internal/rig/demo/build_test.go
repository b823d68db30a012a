package demo

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
)

func TestReplacedModfileAddsOneLine(t *testing.T) {
	t.Parallel()
	app := filepath.Join("..", "..", "..", "examples", "overload")
	b := builder{Config: Config{Root: filepath.FromSlash("/repo"), Base: "v2.5.0"}, temp: t.TempDir()}
	path, line, err := b.replacedModfile(app)
	require.NoError(t, err)
	assert.Equal(t, "replace "+driverModule+" => "+filepath.FromSlash("/repo/build/v2.5.0"), line)

	plain, err := os.ReadFile(filepath.Join(app, "go.mod"))
	require.NoError(t, err)
	replaced, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(plain)+"\n"+line+"\n", string(replaced))

	sums, err := os.ReadFile(filepath.Join(app, "go.sum"))
	require.NoError(t, err)
	copied, err := os.ReadFile(filepath.Join(filepath.Dir(path), "go.sum"))
	require.NoError(t, err)
	assert.Equal(t, sums, copied)
}

func TestRequiresTheBase(t *testing.T) {
	t.Parallel()
	module, err := modfile.Parse("go.mod", []byte("module m\n\nrequire "+driverModule+" v2.5.0\n"), nil)
	require.NoError(t, err)
	assert.NoError(t, requires(module, "v2.5.0"))
	assert.EqualError(t, requires(module, "v2.7.0"), "it does not require "+driverModule+" v2.7.0; run: go -C examples/overload get "+
		driverModule+"@v2.7.0")
}

func TestRunShowsTheOutputOfACommandThatFails(t *testing.T) {
	t.Parallel()
	b := builder{Config: Config{Environ: os.Environ()}}
	err := b.goTool(t.Context(), t.TempDir(), "no-such-command")
	assert.ErrorContains(t, err, "go no-such-command, in ")
	assert.ErrorContains(t, err, "unknown command")
}

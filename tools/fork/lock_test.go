package fork

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/problem"
)

// overlay of the tests below: a declaration that is replaced, and one that is removed.
const lockedOverlay = "//fork:replace it lies\n//fork:remove taken it lies, too\nfunc retryable(err error) bool { return true }\n"

func TestLockRoundTrip(t *testing.T) {
	t.Parallel()
	p := builtProject(t, overlayOf(lockedOverlay))
	text := p.read(t, p.LockFile())
	require.Regexp(t, "^module: example.com/driver/v2 v2.0.0\nsum: h1:.*=\ntouched:\n    remove pool taken: sha256:[0-9a-f]{64}\n"+
		"    replace pool retryable: sha256:[0-9a-f]{64}\n$", text)
	_, err := p.Accept(t.Context())
	require.NoError(t, err)
	require.Equal(t, text, p.read(t, p.LockFile()))
}

// The lock and the directives have to agree both ways.
func TestLockDisagrees(t *testing.T) {
	t.Parallel()
	p := builtProject(t, overlayOf(lockedOverlay))
	lock := p.read(t, p.LockFile())

	p.put(t, p.LockFile(), strings.Replace(lock, "replace pool retryable", "replace pool single", 1))
	err := build(t, p)
	require.ErrorContains(t, err, "pool/overlay.go:3: //fork:replace retryable: not in the lock (v2.0.0, pool/pool.go:53)\n"+
		"  fix: read upstream's declaration, then make lock")
	require.ErrorContains(t, err, p.LockFile()+": replace pool single is locked, but no directive of the overlay names it\n"+
		"  fix: make lock")

	_, err = p.Accept(t.Context())
	require.NoError(t, err)
	require.Equal(t, lock, p.read(t, p.LockFile()))
	require.NoError(t, build(t, p))
}

func TestLockChangedDeclaration(t *testing.T) {
	t.Parallel()
	p := builtProject(t, overlayOf(lockedOverlay))
	lock := p.read(t, p.LockFile())
	p.put(t, p.LockFile(), strings.ReplaceAll(lock, "sha256:", "sha256:ab"))
	err := build(t, p)
	require.EqualError(t, err, `pool/overlay.go:3: //fork:replace retryable: upstream's declaration changed since the lock (v2.0.0, pool/pool.go:53)
  fix: read upstream's declaration, then make lock
pool/overlay.go:4: //fork:remove taken: upstream's declaration changed since the lock (v2.0.0, pool/pool.go:57)
  fix: read upstream's declaration, then make lock`)
	require.NoDirExists(t, p.output().Dir)
}

func TestLockMistakes(t *testing.T) {
	t.Parallel()
	p := builtProject(t, overlayOf(lockedOverlay))
	for _, wrong := range []string{"", "module: m v2.0.0", "<<<<<<< HEAD", "module: m v2.0.0\nsum: h1:a\nreplace pool A: b"} {
		p.put(t, p.LockFile(), wrong)
		_, err := p.Plan(t.Context())
		require.ErrorContains(t, err, "fix: restore the file from version control, then make lock")
		require.ErrorAs(t, err, &problem.List{})
	}
}

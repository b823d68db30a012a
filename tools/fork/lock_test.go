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

// The lock and the directives have to agree both ways, and nothing is built before they do.
func TestLockRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ old, now, want string }{
		{"replace pool retryable", "replace pool single",
			"pool/overlay.go:3: //fork:replace retryable: not in the lock (v2.0.0, pool/pool.go:53)\n" +
				"  fix: read upstream's declaration, then make lock"},
		{"replace pool retryable", "replace pool single",
			"fork.lock: replace pool single is locked, but no directive of the overlay names it\n  fix: make lock"},
		{"sha256:", "sha256:ab",
			"pool/overlay.go:3: //fork:replace retryable: upstream's declaration changed since the lock (v2.0.0, pool/pool.go:53)"},
		{"sha256:", "sha256:ab",
			"pool/overlay.go:4: //fork:remove taken: upstream's declaration changed since the lock (v2.0.0, pool/pool.go:57)"},
		{"v2 v2.0.0", "v2 v2.1.0", "the lock is for example.com/driver/v2 v2.1.0, not for example.com/driver/v2 v2.0.0"},
		{"sum:", "hash:", "the lock is wrong: "},
		{"sum: ", "sum: # ", "fix: restore the file from version control, then make lock"},
		{"touched:", "<<<<<<< HEAD", "fix: restore the file from version control, then make lock"},
	} {
		p := builtProject(t, overlayOf(lockedOverlay))
		lock := p.read(t, p.LockFile())
		p.put(t, p.LockFile(), strings.ReplaceAll(lock, tc.old, tc.now))
		err := build(t, p)
		require.ErrorContains(t, err, tc.want)
		require.ErrorAs(t, err, &problem.List{})
		require.NoDirExists(t, p.output().Dir)
		if tc.old == "replace pool retryable" {
			_, err = p.Accept(t.Context())
			require.NoError(t, err)
			require.Equal(t, lock, p.read(t, p.LockFile()))
			require.NoError(t, build(t, p))
		}
	}
}

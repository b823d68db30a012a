package fork

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/forktest"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/syntax"
)

// overlay of the tests below: a declaration that is replaced, and one that is removed.
const lockedOverlay = "//fork:replace it lies\n//fork:remove taken it lies, too\nfunc retryable(err error) bool { return true }\n"

func TestLockRoundTrip(t *testing.T) {
	t.Parallel()
	p := builtProject(t, overlayOf(lockedOverlay))
	text := p.read(t, p.LockFile())
	lock, err := plan.ParseLock("fork.lock", []byte(text))
	require.NoError(t, err)
	require.Equal(t, text, string(lock.Format()))
	var words []string
	for line := range strings.Lines(text) {
		words = append(words, strings.Fields(line)[0])
	}
	require.Equal(t, []string{"module", "sum", "gomod", "go", "remove", "replace"}, words)
	require.Contains(t, text, "replace pool retryable sha256:")
	require.Contains(t, text, "remove pool taken sha256:")
}

// The lock and the directives have to agree both ways.
func TestLockDisagrees(t *testing.T) {
	t.Parallel()
	p := builtProject(t, overlayOf(lockedOverlay))
	lock := p.read(t, p.LockFile())

	p.put(t, p.LockFile(), strings.Replace(lock, "replace pool retryable", "replace pool single", 1))
	err := build(t, p, false)
	require.ErrorContains(t, err, "pool/overlay.go:3: //fork:replace retryable: not in the lock (v2.0.0, pool/pool.go:53)\n"+
		"  fix: read upstream's declaration, then go run ./tools/cmd/mongofork accept 'pool retryable'")
	require.ErrorContains(t, err, p.LockFile()+":6: replace pool single is locked, but no directive of the overlay names it\n"+
		"  fix: go run ./tools/cmd/mongofork accept 'pool single'")

	_, _, err = p.Accept(t.Context(), "", []syntax.Key{{Package: "pool", Name: "single"}}, false)
	require.NoError(t, err)
	require.NotContains(t, p.read(t, p.LockFile()), "single")
	_, _, err = p.Accept(t.Context(), "", []syntax.Key{{Package: "pool", Name: "retryable"}}, false)
	require.NoError(t, err)
	require.Equal(t, lock, p.read(t, p.LockFile()), "accepting both restores the lock")
	require.NoError(t, build(t, p, false))
}

func TestLockChangedDeclaration(t *testing.T) {
	t.Parallel()
	p := builtProject(t, overlayOf(lockedOverlay))
	lock, err := p.ReadLock()
	require.NoError(t, err)
	for e := range lock.Entries {
		lock.Entries[e] = syntax.Fingerprint("sha256:" + strings.Repeat("ab", 32))
	}
	require.NoError(t, p.writeLock(lock))
	err = build(t, p, false)
	require.ErrorContains(t, err,
		"pool/overlay.go:3: //fork:replace retryable: upstream's declaration changed since the lock (v2.0.0 sha256:abababab")
	require.ErrorContains(t, err, "pool/overlay.go:4: //fork:remove taken: upstream's declaration changed since the lock")
	require.Len(t, err, 2)
	require.NoDirExists(t, p.output().Dir)
}

func TestAcceptUnknownKey(t *testing.T) {
	t.Parallel()
	p := builtProject(t, overlayOf(lockedOverlay))
	before := p.read(t, p.LockFile())
	_, _, err := p.Accept(t.Context(), "", []syntax.Key{{Package: "pool", Name: "Close"}}, false)
	require.ErrorContains(t, err, "[pool Close]: neither touched nor in the lock")
	require.Equal(t, before, p.read(t, p.LockFile()))
}

func TestBaseThatIsNoVersion(t *testing.T) {
	t.Parallel()
	root := builtProject(t, filetree.Tree{}).Root
	for _, base := range []string{"", "2.0.0", "v2.0", "../v2.0.0"} {
		p := &Project{Root: root, Base: base}
		want := fmt.Sprintf("base %q is not a version such as v2.5.0", base)
		_, err := p.ReadLock()
		require.EqualError(t, err, want)
		_, _, err = p.Accept(t.Context(), forktest.Module, nil, false)
		require.EqualError(t, err, want)
	}
}

func TestNewLock(t *testing.T) {
	t.Parallel()
	p := builtProject(t, overlayOf(lockedOverlay))
	next := &Project{Root: p.Root, Base: "v2.1.0", Source: p.Source}
	_, err := next.Plan(t.Context())
	require.ErrorContains(t, err, "etc/bases/v2.1.0/fork.lock: there is no lock for v2.1.0\n  fix: name a base below etc/bases, "+
		"or go run ./tools/cmd/mongofork accept --all --base v2.1.0")
	lock, err := next.newLock(t.Context(), forktest.Module)
	require.NoError(t, err)
	require.Empty(t, lock.Entries, "all of it has to be accepted")
	_, _, err = (&Project{Root: p.Root, Base: "v9.0.0", Source: p.Source}).Accept(t.Context(), forktest.Module, nil, false)
	require.ErrorContains(t, err, "no version v9.0.0")
}

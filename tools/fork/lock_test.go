package fork

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/forktest"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/upstream"
)

// overlay of the tests below: a declaration that is replaced, and one that is removed.
const lockedOverlay = "//fork:replace it lies\n//fork:remove taken it lies, too\nfunc retryable(err error) bool { return true }\n"

// The lock, the module and the directives have to agree, both ways, and only accept writes a lock.
func TestLock(t *testing.T) {
	t.Parallel()
	p := builtProject(t, overlayOf(lockedOverlay))
	lock := p.read(t, p.LockFile())
	require.Regexp(t, "^module: example.com/driver/v2 v2.0.0\nsum: h1:.*=\ntouched:\n    remove pool taken: sha256:[0-9a-f]{64}\n"+
		"    replace pool retryable: sha256:[0-9a-f]{64}\n$", lock)
	const mend, restore = "\n  fix: read upstream's declaration, then make lock\n", "fix: restore the file from version control"
	for wrong, want := range map[string]string{
		strings.Replace(lock, "replace pool retryable", "replace pool single", 1): p.LockFile() + ": replace pool single is locked, but no " +
			"directive of the overlay names it\n  fix: make lock\npool/overlay.go:3: //fork:replace retryable: not in the lock " +
			"(v2.0.0, pool/pool.go:53)" + mend,
		strings.ReplaceAll(lock, "sha256:", "sha256:ab"): "pool/overlay.go:3: //fork:replace retryable: upstream's declaration changed since " +
			"the lock (v2.0.0, pool/pool.go:53)" + mend + "pool/overlay.go:4: //fork:remove taken: upstream's declaration changed since the " +
			"lock (v2.0.0, pool/pool.go:57)" + mend,
		strings.Replace(lock, "v2.0.0", "v2.1.0", 1): "the lock is for example.com/driver/v2 v2.1.0, not for example.com/driver/v2 v2.0.0\n  " +
			restore,
		"":                 restore + ", then make lock",
		"module: m v2.0.0": restore + ", then make lock",
	} {
		p.put(t, p.LockFile(), wrong)
		err := build(t, p)
		require.ErrorAs(t, err, &problem.List{})
		require.Contains(t, err.Error()+"\n", want)
		require.NoDirExists(t, p.Folder(p.Base).Dir)
	}
	p.put(t, p.LockFile(), strings.Replace(lock, "replace pool retryable", "replace pool single", 1))
	_, err := p.Accept(t.Context())
	require.NoError(t, err)
	require.Equal(t, lock, p.read(t, p.LockFile()))
	require.NoError(t, build(t, p))
}

// A module cache that somebody has edited is noticed.
func TestTamperedModule(t *testing.T) {
	t.Parallel()
	p := builtProject(t, overlayOf("func added() {}\n"))
	for name, want := range map[string]string{
		"README.md":      "etc/bases/v2.0.0/fork.lock: the hash of the files in the module cache of example.com/driver/v2 v2.0.0 is h1:",
		"pool/broken.go": "example.com/driver/v2 v2.0.0: pool/broken.go:1:1: ",
	} {
		p.Source = func(ctx context.Context, path, version string) (*upstream.Module, error) {
			source := forktest.Versions(t)
			source[version][name] = []byte("A changed module.\n")
			return source.Module(ctx, path, version)
		}
		require.ErrorContains(t, build(t, p), want)
		require.NoDirExists(t, p.Folder(p.Base).Dir)
	}
}

func TestOverlayLinkIsRefused(t *testing.T) {
	t.Parallel()
	p := builtProject(t, filetree.Tree{})
	if err := os.Symlink("../conn/.keep", filepath.Join(p.Root, "pool", "link.txt")); err != nil {
		t.Skipf("this system has no symbolic links: %v", err)
	}
	require.ErrorContains(t, build(t, p), "pool/link.txt: the go command would leave it out: it is no regular file")
	p.put(t, plan.FoldersFile, "gone\n")
	require.ErrorContains(t, build(t, p), "folder gone of etc/overlay: stat gone: ")
}

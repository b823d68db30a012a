package interpreted

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/bench/internal/goodput"
)

// newInstaller returns one with a load that has nothing but a lock file.
func newInstaller(t *testing.T) (installer Installer, setLock func(text string)) {
	t.Helper()
	i := Installer{Source: t.TempDir(), Target: filepath.Join(t.TempDir(), "target")}
	lock := filepath.Join(i.Source, "load", "lock")
	require.NoError(t, os.Mkdir(filepath.Dir(lock), 0o700))
	setLock = func(text string) { require.NoError(t, os.WriteFile(lock, []byte(text), 0o600)) }
	setLock("1")
	return i, setLock
}

func TestInstallOnce(t *testing.T) {
	i, setLock := newInstaller(t)
	log := filepath.Join(t.TempDir(), "log")
	install := func() string {
		require.NoError(t, i.install(context.Background(), "load", "lock", []string{"sh", "-c", "cat lock >> " + log}))
		text, err := os.ReadFile(log)
		require.NoError(t, err)
		return string(text)
	}
	assert.Equal(t, "1", install())
	assert.Equal(t, "1", install(), "the lock file is the same")
	setLock("2")
	assert.Equal(t, "12", install())
}

func TestInstallFails(t *testing.T) {
	i, _ := newInstaller(t)
	fail := []string{"sh", "-c", "echo no such package; exit 1"}
	for range 2 {
		err := i.install(context.Background(), "load", "lock", fail)
		assert.ErrorContains(t, err, "install load: sh -c")
		assert.ErrorContains(t, err, "no such package")
	}
	err := i.install(context.Background(), "load", "lock", []string{"no-such-interpreter"})
	assert.ErrorIs(t, err, exec.ErrNotFound)
	assert.ErrorIs(t, i.install(context.Background(), "load", "none"), os.ErrNotExist)
}

// TestLockFilesPinWhatIsMeasured fails if a version is changed at one place only.
func TestLockFilesPinWhatIsMeasured(t *testing.T) {
	arms := filepath.Join("..", "..", "arms")
	for file, want := range map[string]string{
		filepath.Join(arms, "pymongo", "requirements.txt"): "pymongo==" + strings.TrimPrefix(goodput.PyMongo, "PyMongo ") + " ",
		filepath.Join(arms, "node", "package.json"):        `"mongodb": "` + strings.TrimPrefix(goodput.NodeDriver, "Node driver ") + `"`,
	} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Contains(t, string(text), want)
	}
}

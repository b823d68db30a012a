//go:build unix

package server

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEnsureVenvRedoesAnInterruptedInstallation(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]func(venv) string{
		"not finished": venv.marker,
		"Python gone":  func(v venv) string { return v.executable("python") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t).install("python3", "python", fakeVersion+"=3.13.0")
			env, err := ensureVenv(t.Context(), m.withDefaults())
			require.NoError(t, err)
			junk := filepath.Join(env.dir, "junk")
			require.NoError(t, os.WriteFile(junk, nil, 0o600))
			require.NoError(t, os.Remove(lost(env)))

			again, err := ensureVenv(t.Context(), m.withDefaults())
			require.NoError(t, err)
			assert.Equal(t, env, again)
			assert.True(t, again.complete())
			assert.NoFileExists(t, junk)
		})
	}
}

func TestEnsureVenvInstallsOnceForAll(t *testing.T) {
	t.Parallel()
	m := newMachine(t).install("python3", "python", fakeVersion+"=3.11.9")
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			env, err := ensureVenv(t.Context(), m.withDefaults())
			assert.NoError(t, err)
			assert.True(t, env.complete())
		})
	}
	all.Wait()
	installed := 0
	for _, call := range m.recorded("python") {
		if call[:2] == "-m" {
			installed++
		}
	}
	assert.Equal(t, 2, installed, "venv and pip are to run once")
}

func TestPinnedVenvFollowsThePins(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	before, err := secantusVenv(m.Root)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(before.requirements, []byte("other pins\n"), 0o600))
	after, err := secantusVenv(m.Root)
	require.NoError(t, err)
	assert.NotEqual(t, before.dir, after.dir)
}

func TestLockWaitIsLimitedByItsContext(t *testing.T) {
	t.Parallel()
	// Not t.TempDir, whose clean-up fails if the wait that was given up opens the file once more.
	dir, err := os.MkdirTemp("", "lock")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "lock")
	unlock, err := lock(t.Context(), path)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = lock(ctx, path)
	require.ErrorIs(t, err, context.Canceled)

	unlock() // what gave up must not keep it
	unlock, err = lock(t.Context(), path)
	require.NoError(t, err)
	unlock()
}

func TestFindPython(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		programs map[string]string // name to version
		want     string
		wantErr  string
	}{
		"the default":       {map[string]string{"python3": "3.12.1", "python3.13": "3.13.0"}, "python3", ""},
		"default too new":   {map[string]string{"python3": "3.14.0", "python3.12": "3.12.4"}, "python3.12", ""},
		"newest of several": {map[string]string{"python3.11": "3.11.0", "python3.13": "3.13.1"}, "python3.13", ""},
		"only python":       {map[string]string{"python": "3.11.2"}, "python", ""},
		"Python 2":          {map[string]string{"python": "2.7.18"}, "", "no Python 3.11 to 3.13 on the PATH (python is 2.7.18)"},
		"too new":           {map[string]string{"python3": "3.14.0"}, "", "no Python 3.11 to 3.13 on the PATH (python3 is 3.14.0)"},
		"nonsense":          {map[string]string{"python3": "snake"}, "", "no Python 3.11 to 3.13 on the PATH"},
		"none":              {nil, "", "no Python 3.11 to 3.13 on the PATH"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			for program, version := range test.programs {
				m.install(program, "python", fakeVersion+"="+version)
			}
			got, err := findPython(t.Context(), m.withDefaults())
			if test.wantErr != "" {
				assert.EqualError(t, err, test.wantErr)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, filepath.Join(m.bin, test.want), got)
		})
	}
}

func TestFindPythonSkipsABrokenOne(t *testing.T) {
	t.Parallel()
	m := newMachine(t).install("python3", "python", fakeFault+"=broken").install("python3.11", "python", fakeVersion+"=3.11.1")
	got, err := findPython(t.Context(), m.withDefaults())
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(m.bin, "python3.11"), got)
}

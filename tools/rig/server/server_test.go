package server

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/rig/pypi"
)

func TestForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]int{"standalone": {0, 0}, "replicaset:7": {7, 0}, "sharded:2": {0, 2}, "": {3, 0}} {
		members, routers, err := Config{Topology: text}.form()
		require.NoError(t, err)
		assert.Equal(t, want, [2]int{members, routers})
	}
	for _, text := range []string{"standalone:1", "replicaset", "replicaset:0", "replicaset:8", "sharded:x", "members:3"} {
		_, err := Open(t.Context(), Config{Topology: text})
		assert.ErrorContains(t, err, "want standalone, replicaset:N or", text)
	}
}

// onPath makes shell scripts the only programs.
func onPath(t *testing.T, scripts map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, script := range scripts {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755))
	}
	t.Setenv("PATH", dir)
}

func TestOpenSaysWhatIsMissing(t *testing.T) {
	old := map[string]string{"mongod": "echo 'db version v8.0.4'"}
	for _, tt := range []struct {
		name, uri string
		programs  map[string]string
		cfg       Config
		want      string
		wrong     bool // not missing, but wrong
	}{
		{name: "nothing", want: "no mongod on the PATH; no Python 3.11 to 3.13 on the PATH; no Python 3.11 to 3.13 on the PATH: " +
			"install mongod >= 8.2"},
		{name: "too old", programs: old, want: "/mongod is v8.0.4;"},
		{name: "broken", programs: map[string]string{"mongod": "exit 3"}, want: "or has no version (exit status 3)"},
		{name: "another program", programs: map[string]string{"mongod": "echo hello"}, want: `or has no version (<nil>): "hello"`},
		{name: "old Python", programs: map[string]string{"python3": "echo Python 3.10.1"}, want: "no Python 3.11 to 3.13"},
		{name: "one that is not set", cfg: Config{Name: Given}, want: `asks for "uri", which cannot be had`, wrong: true},
		{name: "one that nobody knows", cfg: Config{Name: "mongo"},
			want: `asks for "mongo", which cannot be had for this; name one of path, mongod, secantus with`, wrong: true},
		{name: "one that has no forms", cfg: Config{Name: SecantusDB, Topology: "replicaset:1"}, want: "name one of path, mongod with",
			wrong: true},
		{name: "no mongos", programs: old, cfg: Config{Topology: "sharded:2"}, want: "available: no mongos on the PATH"},
		{name: "no URI", uri: "http://127.0.0.1", want: "MONGODB_URI is not a connection string", wrong: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onPath(t, tt.programs)
			t.Setenv("MONGODB_URI", tt.uri)
			t.Setenv("SERVER", "")
			tt.cfg.Root, tt.cfg.Progress = t.TempDir(), t.Output()
			pins := filepath.Join(tt.cfg.Root, "etc", "server")
			require.NoError(t, os.MkdirAll(pins, 0o755))
			for _, name := range []string{"mongod.txt", "requirements.txt"} {
				require.NoError(t, os.WriteFile(filepath.Join(pins, name), nil, 0o600))
			}
			_, err := Open(t.Context(), tt.cfg)
			require.ErrorContains(t, err, tt.want)
			assert.Equal(t, tt.wrong, !errors.Is(err, pypi.ErrUnavailable))
		})
	}
}

func TestAMemberThatDoesNotAnswerIsNoPrimary(t *testing.T) {
	t.Parallel()
	m := &Member{deployment: &Deployment{running: t.Context()}, address: "127.0.0.1:1"}
	assert.False(t, m.IsPrimary(t.Context()))
}

func TestRunFoldersOfKilledProcessesGo(t *testing.T) {
	parent := t.TempDir()
	ended := exec.Command("go", "version")
	require.NoError(t, ended.Run())
	for _, name := range []string{fmt.Sprintf("run-%d-1", ended.Process.Pid), fmt.Sprintf("run-%d-1", os.Getppid()), "run-x", "kept"} {
		require.NoError(t, os.MkdirAll(filepath.Join(parent, name, "data"), 0o755))
	}
	_, err := newRunDir(parent)
	require.NoError(t, err)
	left, err := filepath.Glob(filepath.Join(parent, "*"))
	require.NoError(t, err)
	require.Len(t, left, 4)
	require.NoDirExists(t, filepath.Join(parent, fmt.Sprintf("run-%d-1", ended.Process.Pid)))
}

package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/rig/pypi"
)

func TestOpenSaysWhatIsMissing(t *testing.T) {
	const old = "echo 'db version v8.0.4'"
	for want, tt := range map[string]struct {
		mongod, uri string
		cfg         Config
		wrong       bool // not missing, but wrong
	}{
		"no mongod on the PATH; no Python 3.11 to 3.13 on the PATH; no Python 3.11 to 3.13 on the PATH: install mongod >= 8.2": {},
		"/mongod is v8.0.4;":                             {mongod: old},
		"/mongod --version says no version: exit status": {mongod: "exit 3"},
		`says no version: <nil>: "hello"`:                {mongod: "echo hello"},
		`asks for "uri", which cannot be had`:            {cfg: Config{Name: Given}, wrong: true},
		"name one of path, mongod, secantus with SERVER": {cfg: Config{Name: "mongo"}, wrong: true},
		"name one of path, mongod with SERVER":           {cfg: Config{Name: SecantusDB, Topology: "replicaset:1"}, wrong: true},
		"available: no mongos on the PATH":               {mongod: old, cfg: Config{Topology: "sharded:2"}},
		`topology "replicaset:8": want standalone`:       {cfg: Config{Topology: "replicaset:8"}, wrong: true},
		"start it, or unset MONGODB_URI":                 {uri: "http://127.0.0.1", wrong: true},
	} {
		t.Run(want, func(t *testing.T) {
			tt.cfg.Root, tt.cfg.Progress = t.TempDir(), t.Output()
			path := filepath.Join(tt.cfg.Root, "bin")
			require.NoError(t, filetree.Tree{"etc/server/mongod.txt": nil, "etc/server/requirements.txt": nil, "bin/none": nil}.Write(tt.cfg.Root))
			if tt.mongod != "" {
				require.NoError(t, os.WriteFile(filepath.Join(path, "mongod"), []byte("#!/bin/sh\n"+tt.mongod), 0o755))
			}
			t.Setenv("PATH", path)
			t.Setenv("MONGODB_URI", tt.uri)
			t.Setenv("SERVER", "")
			_, err := Open(t.Context(), tt.cfg)
			require.ErrorContains(t, err, want)
			assert.Equal(t, tt.wrong, !errors.Is(err, pypi.ErrUnavailable))
		})
	}
}

func TestRunFoldersOfKilledProcessesGo(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	kept, killed := fmt.Sprintf("run-%d-1/data", os.Getppid()), "run-1073741824-1/data" // no system has so many processes
	require.NoError(t, filetree.Tree{kept: nil, killed: nil, "run-x/data": nil, "kept/data": nil}.Write(parent))
	dir, err := newRunDir(parent)
	require.NoError(t, err)
	require.NoError(t, os.Remove(dir))
	left, err := filetree.Read(parent)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{kept, "run-x/data", "kept/data"}, left.Paths())
}

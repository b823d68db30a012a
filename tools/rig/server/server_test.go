//go:build unix

package server

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/rig/pypi"
)

// pinned returns the options of a deployment of the pinned mongod, whose folder must be empty in the end.
func pinned(t *testing.T) Options {
	t.Helper()
	binary, err := installMongod(t.Context(), Config{Root: "../../..", Progress: t.Output()})
	if errors.Is(err, pypi.ErrUnavailable) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	require.NoError(t, err)
	dir := t.TempDir()
	t.Cleanup(func() {
		left, err := os.ReadDir(dir)
		assert.NoError(t, err)
		assert.Empty(t, left, "left behind")
	})
	return Options{Binary: binary, Dir: dir}
}

func TestUsers(t *testing.T) {
	t.Parallel()
	o := pinned(t)
	o.Members, o.Users, o.ReplicaSet = 3, true, "other"
	d, err := Start(t.Context(), o)
	require.NoError(t, err)
	defer func() { assert.NoError(t, errors.Join(d.Err(), d.Stop())) }()
	uri, err := url.Parse(d.URI)
	require.NoError(t, err)
	databases := func(uri string) error {
		_, err := d.runAdmin(t.Context(), optionsFor(uri), bson.D{{Key: "listDatabases", Value: 1}})
		return err
	}
	require.NoError(t, databases(d.URI))
	for _, m := range d.Members() {
		address := m.Address() + "/?directConnection=true"
		assert.NoError(t, databases("mongodb://"+uri.User.String()+"@"+address), "all know the user")
	}
	assert.Equal(t, "other", uri.Query().Get("replicaSet"))
	uri.User = nil
	assert.ErrorContains(t, databases(uri.String()), "requires authentication")
}

func TestAMemberThatEndsByItselfIsNoticed(t *testing.T) {
	t.Parallel()
	o := pinned(t)
	d, err := Start(t.Context(), o)
	require.NoError(t, err)
	require.NoError(t, d.Err())
	require.NoError(t, syscall.Kill(d.Members()[0].cmd.Process.Pid, syscall.SIGTERM))
	assert.ErrorContains(t, d.Wait(t.Context()), "exited (exit status 0)")
	require.NoError(t, d.Stop())

	o.Members, o.Arguments = 3, []string{"--nonsense"}
	_, err = Start(t.Context(), o)
	assert.ErrorContains(t, err, "unrecognised option '--nonsense'")
}

// TestRunbook finds the fields of serverStatus that the runbook names in a real server, except those that only a newer one has, and runs
// its lines for mongosh if there is one on the PATH.
func TestRunbook(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/runbook.md")
	require.NoError(t, err)
	d, err := Start(t.Context(), pinned(t))
	require.NoError(t, err)
	defer func() { assert.NoError(t, errors.Join(d.Err(), d.Stop())) }()
	status, err := d.runAdmin(t.Context(), optionsFor(d.URI), bson.D{{Key: "serverStatus", Value: 1}})
	require.NoError(t, err)
	shell, notFound := exec.LookPath("mongosh")
	lines := regexp.MustCompile(`(?m)^db\.(serverStatus\(\)\.)?([\w.]*)[^/\n]*(// since 8)?.*$`).FindAllStringSubmatch(string(page), -1)
	require.Len(t, lines, 6)
	for _, line := range lines {
		if line[1] != "" && line[3] == "" {
			_, err := status.LookupErr(strings.Split(line[2], ".")...)
			assert.NoError(t, err, line[0])
		}
		if notFound == nil {
			out, err := exec.CommandContext(t.Context(), shell, d.URI, "--quiet", "--eval", line[0]).CombinedOutput()
			assert.NoError(t, err, "%s\n%s", line[0], out)
		}
	}
}

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

//go:build unix

package mongod_test

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/rig/mongod"
)

// program writes a shell script that takes the place of a mongod.
func program(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mongod")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	return path
}

func TestBadStarts(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { taken.Close() })
	takenPort := taken.Addr().(*net.TCPAddr).Port

	fatal := `echo '{"s":"I","msg":"starts"}'; echo '{"s":"E","msg":"cannot write:","attr":{"error":"No space left on device"}}'
echo '{"s":"F","msg":"aborts"}'; exit 14`
	tests := map[string]struct {
		options mongod.Options
		want    string
	}{
		"too many members":     {mongod.Options{Members: 8}, "a replica set of 8 members; ask for 1 to 7"},
		"fewer than none":      {mongod.Options{Members: -1}, "a replica set of -1 members; ask for 1 to 7"},
		"ports for others":     {mongod.Options{Ports: []int{1}}, "1 ports for 3 members; name one for each, or none"},
		"no such program":      {mongod.Options{Binary: "/nonexistent/mongod"}, "no such file or directory"},
		"a port that is taken": {mongod.Options{Standalone: true, Ports: []int{takenPort}}, "port " + strconv.Itoa(takenPort) + " cannot be used; name another one, or none"},
		"one that ends":        {mongod.Options{Binary: program(t, fatal)}, "ended by itself (exit status 14): cannot write: No space left on device; its log is "},
		"one that does not link": {
			mongod.Options{Binary: program(t, "echo 'libssl.so.3: cannot open'; exit 127")},
			"ended by itself (exit status 127): libssl.so.3: cannot open; its log is ",
		},
		"one that is deaf": {
			mongod.Options{Binary: program(t, "exec sleep 60"), StartTimeout: 200 * time.Millisecond, Standalone: true},
			"does not answer; its log is ",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.options.Dir = t.TempDir()
			if test.options.Binary == "" {
				test.options.Binary = program(t, "exit 1")
			}
			_, err := mongod.Start(t.Context(), test.options)
			require.ErrorContains(t, err, test.want)
			assert.NotContains(t, err.Error(), "\n")
			data, err := filepath.Glob(filepath.Join(test.options.Dir, "*", "*", "data"))
			require.NoError(t, err)
			assert.Empty(t, data, "left behind")
			runs, err := filepath.Glob(filepath.Join(test.options.Dir, "*", "*", "log"))
			require.NoError(t, err)
			assert.Equal(t, strings.Contains(test.want, "its log is"), len(runs) > 0, "a log is left where the error names one")
		})
	}
}

func TestFreePortsAreOutsideThoseOfOutgoingConnections(t *testing.T) {
	t.Parallel()
	ports, err := mongod.FreePorts(7)
	require.NoError(t, err)
	seen := map[int]bool{}
	for _, port := range ports {
		assert.False(t, seen[port])
		seen[port] = true
		assert.GreaterOrEqual(t, port, 20000)
		assert.Less(t, port, 32768, "the first that Linux gives to outgoing connections")
	}
}

func TestBecause(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"":                              "",
		`{"s":"I","msg":"all is well"}`: "",
		`{"s":"E","msg":"Failed","attr":{"error":"Address already in use"}}` + "\n" + `{"s":"I"}`: ": Failed Address already in use",
		"it does not\tlink": ": it does not link",
	}
	for log, want := range tests {
		path := filepath.Join(t.TempDir(), "log")
		require.NoError(t, os.WriteFile(path, []byte(log), 0o600))
		assert.Equal(t, want, mongod.Because(path), log)
	}
}

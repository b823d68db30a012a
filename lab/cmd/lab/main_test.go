package main

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/command"
)

func TestServe(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // what is tested here needs no more of a backend
	require.NoError(t, err)
	defer silent.Close()
	backend := "mongodb://" + silent.Addr().String() + "/"
	ended, end := context.WithCancel(t.Context())
	end()
	var stdout, stderr strings.Builder
	args := []string{"serve", "--topology", "sharded:2", "--backend", backend}
	require.Equal(t, command.ExitOK, run(ended, args, &stdout, io.Discard))
	assert.Regexp(t, `^MONGODB_URI=mongodb://127\.0\.0\.1:\d+,127\.0\.0\.1:\d+/\n$`, stdout.String(), "two routers")

	if runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	output := filepath.Join(t.TempDir(), "output")
	script := `echo "$MONGODB_URI|$SINGLE_MONGOS_LB_URI|$MULTI_MONGOS_LB_URI" > "$1"; exit 7`
	code := run(t.Context(), []string{"serve", "--topology", "loadbalanced:2", "--backend", backend, "--",
		"sh", "-c", script, "sh", output}, io.Discard, &stderr)
	assert.Equal(t, command.ExitFailed, code)
	assert.Contains(t, stderr.String(), "sh: exit status 7")
	written, err := os.ReadFile(output)
	require.NoError(t, err)
	uris := strings.Split(strings.TrimSpace(string(written)), "|")
	require.Len(t, uris, 3)
	assert.Equal(t, uris[0], uris[1])
	assert.NotEqual(t, uris[1], uris[2])
}

func TestWrongUsage(t *testing.T) {
	t.Setenv("MONGODB_URI", "") // so that it is restored
	require.NoError(t, os.Unsetenv("MONGODB_URI"))
	for want, args := range map[string][]string{
		`give "standalone"`:              {"serve", "--backend", "mongodb://h", "--topology", "x"},
		"the backend's URI: error":       {"serve", "--topology", "standalone"},
		"does not answer; start it":      {"serve", "--topology", "standalone", "--backend", "mongodb://127.0.0.1:1"},
		"has to name one host":           {"serve", "--topology", "standalone", "--backend", "mongodb://a,b"},
		"give --mongod=FILE for":         {"serve", "--backend", "mongodb://a"},
		"alone for another":              {"serve", "--mongod", "main.go", "--topology", "sharded:2"},
		"missing flags: --fork":          {"soak", "--mongod", "main.go"},
		`there is no fault of that name`: {"soak", "--mongod", "main.go", "--fork", "x=x", "--only", "flood"},
		"seed 5: ":                       {"soak", "--mongod", "main.go", "--fork", "x=x", "--seed=5", "--dir", t.TempDir()},
	} {
		var stdout, stderr strings.Builder
		code := run(context.Background(), args, &stdout, &stderr)
		assert.NotEqual(t, command.ExitOK, code, args)
		assert.Contains(t, stderr.String(), want, args)
		assert.Empty(t, stdout.String(), "no table of what was not done")
	}
}

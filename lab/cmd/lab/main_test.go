package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/command"
)

// deadBackend is an address that nobody listens at: what is tested here needs no backend.
func deadBackend(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return "mongodb://" + listener.Addr().String() + "/"
}

// start runs a command line until the test ends, and returns the addresses that it prints, and its exit code.
func start(t *testing.T, args ...string) (map[string]string, <-chan int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	reader, writer := io.Pipe()
	code := make(chan int, 1)
	go func() {
		defer writer.Close()
		code <- run(ctx, args, writer, io.Discard)
	}()
	t.Cleanup(func() {
		cancel()
		reader.Close()
	})
	printed := map[string]string{}
	for lines := bufio.NewScanner(reader); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), "=")
		if printed[name] = value; name == "LAB_TOPOLOGY" {
			return printed, code
		}
	}
	require.Fail(t, "the lab printed no LAB_TOPOLOGY", "%v", printed)
	return nil, nil
}

func TestServe(t *testing.T) {
	printed, code := start(t, "serve", "--topology", "sharded:2", "--backend", deadBackend(t))
	assert.Contains(t, printed["MONGODB_URI"], ",", "two routers")
	assert.Equal(t, "sharded:2", printed["LAB_TOPOLOGY"])
	assert.Empty(t, code, "it serves")
}

func TestWrongUsage(t *testing.T) {
	t.Setenv("MONGODB_URI", "") // so that it is restored
	require.NoError(t, os.Unsetenv("MONGODB_URI"))
	for want, args := range map[string][]string{
		"missing flags: --backend=URI": {"serve"},
		"unknown flag --what":          {"serve", "--what"},
		`give "standalone"`:            {"serve", "--backend", "mongodb://h", "--topology", "x"},
		"has to name one host":         {"serve", "--backend", "mongodb://a,b"},
		"or --mongod=FILE":             {"serve", "--backend", "mongodb://a", "--topology", "members"},
		"--mongod starts members":      {"serve", "--mongod", "main.go", "--topology", "sharded"},
		"missing flags: --fork":        {"soak", "--mongod", "main.go"},
		"have to be more than 0":       {"soak", "--mongod", "main.go", "--fork", "x=x", "--seeds=0"},
		`there is no fault "flood"`:    {"soak", "--mongod", "main.go", "--fork", "x=x", "--only", "flood"},
	} {
		var stderr strings.Builder
		code := run(context.Background(), args, io.Discard, &stderr)
		assert.NotEqual(t, command.ExitOK, code, args)
		assert.Contains(t, stderr.String(), want, args)
	}
}

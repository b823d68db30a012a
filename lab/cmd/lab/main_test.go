package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/lab/internal/control"
	"mongofork/tools/command"
)

const patience = 10 * time.Second

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
		if printed[name] = value; name == "LAB_URL" {
			return printed, code
		}
	}
	require.Fail(t, "the lab printed no LAB_URL", "%v", printed)
	return nil, nil
}

func call(t *testing.T, method, url string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	require.NoError(t, err)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(body)
}

func TestServe(t *testing.T) {
	printed, _ := start(t, "serve", "--topology", "replicaset:2", "--backend", deadBackend(t), "--election-delay", "0s")
	assert.Contains(t, printed["MONGODB_URI"], "replicaSet=lab")
	url := printed["LAB_URL"]

	code, body := call(t, "POST", url+"/stepdown?for=1m")
	assert.Equal(t, 200, code, body)
	var status control.Status
	assert.Eventually(t, func() bool {
		_, body := call(t, "GET", url+"/status")
		require.NoError(t, json.Unmarshal([]byte(body), &status))
		return status.Members[1].Role == "primary"
	}, patience, time.Millisecond)
	code, _ = call(t, "POST", url+"/fronts/1/fault?kind=slow&delay=100ms&for=1h")
	assert.Equal(t, 200, code)
	_, body = call(t, "GET", url+"/status")
	assert.Contains(t, body, `{"kind":"slow","delayNanoseconds":100000000}`)
	code, _ = call(t, "GET", url+"/counts")
	assert.Equal(t, 200, code)
	code, _ = call(t, "GET", url+"/metrics")
	assert.Equal(t, 200, code)

	for path, want := range map[string]int{
		"/fronts/2/fault?kind=silent": 404, "/fronts/x/fault?kind=silent": 400, "/fronts/0/fault?kind=loud": 400,
		"/fronts/0/fault?kind=silent&for=x": 400, "/fronts/0/fault?kind=slow&delay=-1s": 400, "/stepdown?for=no": 400,
	} {
		code, body := call(t, "POST", url+path)
		assert.Equal(t, want, code, path)
		assert.Contains(t, body, `"error"`, path)
	}
	code, _ = call(t, "POST", url+"/stepdown", "Origin", "https://example.com", "Sec-Fetch-Site", "cross-site")
	assert.Equal(t, 403, code, "of a web page")
}

func TestRunEndsWithTheScenario(t *testing.T) {
	file := filepath.Join(t.TempDir(), "scenario.yaml")
	require.NoError(t, os.WriteFile(file, []byte("topology: replicaset:2\nduration: 50ms\nsteps: [{stepDown: {for: 1s}}]"), 0o600))
	_, code := start(t, "run", "--backend", deadBackend(t), file)
	select {
	case got := <-code:
		assert.Equal(t, command.ExitOK, got)
	case <-time.After(patience):
		assert.Fail(t, "the scenario does not end")
	}
}

func TestWrongUsage(t *testing.T) {
	t.Setenv("MONGODB_URI", "") // so that it is restored
	require.NoError(t, os.Unsetenv("MONGODB_URI"))
	for want, args := range map[string][]string{
		"missing flags: --backend=URI": {"serve"},
		"unknown flag --what":          {"serve", "--what"},
		"the kind is unknown":          {"serve", "--backend", "mongodb://h", "--topology", "x"},
		"names 2 hosts":                {"serve", "--backend", "mongodb://a,b"},
		"requests per second":          {"serve", "--backend", "mongodb://a", "--capacity=-1"},
		"no such file":                 {"run", "--backend", "mongodb://a", "no-such-file.yaml"},
	} {
		var stderr strings.Builder
		code := run(context.Background(), args, io.Discard, &stderr)
		assert.NotEqual(t, command.ExitOK, code, args)
		assert.Contains(t, stderr.String(), want, args)
	}
}

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/lab/internal/fault"
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
	printed, _ := start(t, "serve", "--topology", "replicaset:2", "--backend", deadBackend(t))
	assert.Contains(t, printed["MONGODB_URI"], "replicaSet=lab")
	url := printed["LAB_URL"]
	read := func(method, path string) (s status) {
		code, body := call(t, method, url+path)
		require.Equal(t, 200, code, body)
		require.NoError(t, json.Unmarshal([]byte(body), &s))
		return s
	}
	assert.Equal(t, "replicaset:2", read("GET", "/status").Topology)
	assert.EqualValues(t, "secondary", read("POST", "/stepdown?for=1m").Members[0].Role)
	assert.Eventually(t, func() bool { return read("GET", "/status").Members[1].Role == "primary" }, patience, time.Millisecond)
	slow := fault.Fault{Kind: fault.Slow, Delay: 100 * time.Millisecond}
	assert.Equal(t, []fault.Fault{{Kind: fault.Off}, slow}, read("POST", "/fronts/1/fault?kind=slow&delay=100ms&for=1h").Faults)
	read("POST", "/fronts/1/fault?kind=silent&for=20ms")
	assert.Eventually(t, func() bool { return read("GET", "/status").Faults[1].Kind == fault.Off }, patience, time.Millisecond)

	before := read("GET", "/status")
	for path, want := range map[string]struct {
		code int
		text string
	}{
		"/fronts/2/fault?kind=silent":         {404, "numbered from 0 to 1"},
		"/fronts/x/fault?kind=silent":         {400, "not a number"},
		"/fronts/0/fault":                     {400, "unknown"},
		"/fronts/0/fault?kind=slow":           {400, "takes a delay"},
		"/fronts/0/fault?kind=slow&delay=5":   {400, "give a time such as"},
		"/fronts/0/fault?kind=silent&for=-1s": {400, "give a time such as"},
		"/stepdown?for=no":                    {400, "give a time such as"},
		"/members/0/kill":                     {400, "--topology members"},
		"/partition?members=0":                {400, "--topology members"},
		"/nothing":                            {404, ""},
		"/status":                             {405, ""},
	} {
		code, body := call(t, "POST", url+path)
		assert.Equal(t, want.code, code, path)
		assert.Contains(t, body, want.text, path)
	}
	code, _ := call(t, "POST", url+"/stepdown", "Origin", "https://example.com", "Sec-Fetch-Site", "cross-site")
	assert.Equal(t, 403, code, "of a web page")
	assert.Equal(t, before, read("GET", "/status"), "nothing was changed")
}

// TestHost is about DNS rebinding: the page of another machine, whose name leads to this one, reads and acts with the name that it
// has.
func TestHost(t *testing.T) {
	for host, ok := range map[string]bool{
		"127.0.0.1:27080": true, "127.0.0.1": true, "127.8.9.1:1": true, "localhost:27080": true, "LocalHost": true,
		"[::1]:27080": true, "[::1]": true, "::1": true, "[::ffff:127.0.0.1]:1": true,
		"attacker.example": false, "attacker.example:27080": false, "localhost.attacker.example": false,
		"127.0.0.1.attacker.example:80": false, "localhost.": false, "": false, ":27080": false, "10.0.0.1": false,
		"[::1].attacker.example": false, "localhost:1:2": false, "attacker.example@127.0.0.1": false,
	} {
		r := httptest.NewRequest("GET", "/status", nil)
		r.Host = host
		w := httptest.NewRecorder()
		local(http.NotFoundHandler()).ServeHTTP(w, r)
		if ok {
			assert.Equal(t, http.StatusNotFound, w.Code, host)
		} else {
			assert.Equal(t, http.StatusForbidden, w.Code, host)
			assert.Contains(t, w.Body.String(), "ask for 127.0.0.1 or localhost")
		}
	}
}

func TestWrongUsage(t *testing.T) {
	t.Setenv("MONGODB_URI", "") // so that it is restored
	require.NoError(t, os.Unsetenv("MONGODB_URI"))
	for want, args := range map[string][]string{
		"missing flags: --backend=URI":   {"serve"},
		"unknown flag --what":            {"serve", "--what"},
		`give "standalone"`:              {"serve", "--backend", "mongodb://h", "--topology", "x"},
		"names 2 hosts":                  {"serve", "--backend", "mongodb://a,b"},
		"or --mongod=FILE":               {"serve", "--backend", "mongodb://a", "--topology", "members"},
		"--mongod starts members":        {"serve", "--mongod", "main.go"},
		"missing flags: --mongod":        {"soak"},
		"have to be more than 0":         {"soak", "--mongod", "main.go", "--seeds=0"},
		"--fork or --other x: give NAME": {"soak", "--mongod", "main.go", "--other", "x"},
	} {
		var stderr strings.Builder
		code := run(context.Background(), args, io.Discard, &stderr)
		assert.NotEqual(t, command.ExitOK, code, args)
		assert.Contains(t, stderr.String(), want, args)
	}
}

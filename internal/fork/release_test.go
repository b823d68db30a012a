package fork

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/dirhash"
)

func TestRelease(t *testing.T) {
	t.Parallel()
	p := builtProject(t, overlayOf("func added() {}\n"))
	dir := t.TempDir()
	r, err := p.Release(t.Context(), dir, "v2.0.0-fork.2")
	require.NoError(t, err)
	base := "example.com/driver/v2/@v/v2.0.0-fork.2"
	require.Equal(t, []string{base + ".info", base + ".mod", base + ".zip"}, r.Files)
	sum, err := dirhash.HashZip(filepath.Join(dir, base+".zip"), dirhash.Hash1)
	require.NoError(t, err)
	require.Equal(t, sum, r.Sum)
	first, err := ReadTree(dir)
	require.NoError(t, err)
	require.Equal(t, "{\"Version\":\"v2.0.0-fork.2\"}\n", string(first[base+".info"]))
	require.Equal(t, "example.com/driver/v2 v2.0.0-fork.2 "+r.Sum+"\nexample.com/driver/v2 v2.0.0-fork.2/go.mod "+r.GoModSum+"\n", string(first["go.sum"]))
	sums, ok, err := readManifest(filepath.Join(dir, "SHA256SUMS"))
	require.NoError(t, err)
	require.True(t, ok)
	for _, name := range r.Files {
		require.Equal(t, digest(first[name]), sums[name])
	}

	_, err = p.Release(t.Context(), dir, "v2.0.0-fork.2")
	require.NoError(t, err, "the same again is no change")
	second, err := ReadTree(dir)
	require.NoError(t, err)
	require.Equal(t, first, second)

	p.put(t, "pool/overlay.go", "package pool\n\nfunc added() { taken() }\n")
	_, err = p.Release(t.Context(), dir, "v2.0.0-fork.2")
	require.ErrorContains(t, err, base+".zip: this version was released with another content\n  mend: go run ./cmd/mongofork release --version with a higher version")
	_, err = p.Release(t.Context(), dir, "v2.0.0-fork.10")
	require.NoError(t, err)
	list, err := os.ReadFile(filepath.Join(dir, "example.com/driver/v2/@v/list"))
	require.NoError(t, err)
	require.Equal(t, "v2.0.0-fork.2\nv2.0.0-fork.10\n", string(list))
	require.Equal(t, digest(first[base+".zip"]), sums[base+".zip"])
}

func TestReleaseVersions(t *testing.T) {
	t.Parallel()
	p := builtProject(t, overlayOf("func added() {}\n"))
	for _, version := range []string{"", "2.0.0", "v2.0", "v2.0.0+local", "v3.0.0", "v1.0.0"} {
		dir := t.TempDir()
		_, err := p.Release(t.Context(), dir, version)
		require.Error(t, err, version)
		tree, err := ReadTree(dir)
		require.NoError(t, err)
		require.Empty(t, tree, version)
	}
}

// An application can use the release through the proxy protocol alone.
func TestRealReleaseThroughProxy(t *testing.T) {
	t.Parallel()
	p := realProject(t, Tree{"x/bsonx/bsoncore/fork.go": []byte("package bsoncore\n\n// Forked is new.\nfunc Forked() string { return \"the fork\" }\n")})
	dir := t.TempDir()
	_, err := p.Release(t.Context(), dir, realBase+"-fork.1")
	require.NoError(t, err)

	app := Tree{
		"go.mod":  []byte("module app\n\ngo 1.19\n\nrequire " + realModulePath + " " + realBase + "\n\nreplace " + realModulePath + " => " + realModulePath + " " + realBase + "-fork.1\n"),
		"main.go": []byte("package main\n\nimport \"" + realModulePath + "/x/bsonx/bsoncore\"\n\nfunc main() { print(bsoncore.Forked()) }\n"),
	}
	at := t.TempDir()
	require.NoError(t, app.write(at))
	proxies, err := runCommand(t.Context(), at, nil, "go", "env", "GOMODCACHE", "GOPROXY")
	require.NoError(t, err)
	cache, proxy, _ := strings.Cut(strings.TrimSpace(string(proxies)), "\n")
	env := []string{
		// A module cache of its own: the shared one would keep this release.
		"GOMODCACHE=" + filepath.Join(t.TempDir(), "mod"), "GOFLAGS=-mod=mod -modcacherw -trimpath", "GOWORK=off", "GOSUMDB=off",
		"GOPROXY=" + fileURL(dir) + "," + fileURL(filepath.Join(cache, "cache", "download")) + "," + proxy,
	}
	_, err = runCommand(t.Context(), at, env, "go", "build", "-o", "app", ".")
	require.NoError(t, err)
	goSum, err := os.ReadFile(filepath.Join(at, "go.sum"))
	require.NoError(t, err)
	released, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	require.NoError(t, err)
	for line := range bytes.Lines(released) {
		require.Contains(t, string(goSum), string(line), "the go command computes the sums that the release states")
	}
	binary, err := os.ReadFile(filepath.Join(at, "app"))
	require.NoError(t, err)
	require.True(t, bytes.Contains(binary, []byte("the fork")))
}

func fileURL(dir string) string {
	slashed := filepath.ToSlash(dir)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed
	}
	return "file://" + slashed
}

package fork

import (
	"bytes"
	"fmt"
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
	require.ErrorContains(t, err, base+".zip: this version was released with another content\n  mend: raise Fork in version/fork.go, then make lock")
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
	for _, version := range []string{
		"", "2.0.0-fork.1", "v2.0-fork.1", "v2.0.0-fork.1+local", "v2.0.0-", "v2.0.0-fork.01", "v3.0.0-fork.1", "v1.0.0-fork.1",
		"v2.0.0", "v2.0.1", "v2.0.1-fork.1",
	} {
		dir := t.TempDir()
		_, err := p.Release(t.Context(), dir, version)
		require.EqualError(t, err, fmt.Sprintf("version %q: want a version of the fork of v2.0.0, such as --version v2.0.0-fork.1", version))
		tree, err := ReadTree(dir)
		require.NoError(t, err)
		require.Empty(t, tree, version)
	}
}

// What the fork calls itself, in handshakes and logs, is what it is released as.
func TestReleaseIsWhatTheForkCallsItself(t *testing.T) {
	t.Parallel()
	p := builtProject(t, Tree{"pool/overlay.go": []byte("package pool\n\nfunc added() {}\n"),
		ConfigFile: []byte("pool\nversion\n"), "version/fork.go": []byte("package version\n\nconst Fork = \"acme.3\"\n")})
	version, err := p.ReleaseVersion(t.Context())
	require.NoError(t, err)
	require.Equal(t, "v2.0.0-acme.3", version)
	dir := t.TempDir()
	_, err = p.Release(t.Context(), dir, "v2.0.0-fork.3")
	require.EqualError(t, err, "version: the fork calls itself v2.0.0-acme.3, not v2.0.0-fork.3\n"+
		"  mend: leave --version out, or change the constant Fork and go run ./cmd/mongofork accept on every base")
	r, err := p.Release(t.Context(), dir, version)
	require.NoError(t, err)
	require.Equal(t, version, r.Version)

	for _, code := range []string{"const Fork = 1", "var Fork = \"fork.1\"", "const Fork = \"a\" + \"b\"", "const Other = \"fork.1\""} {
		p.put(t, "version/fork.go", "package version\n\n"+code+"\n")
		_, err = p.ReleaseVersion(t.Context())
		require.EqualError(t, err, "the overlay does not name its patch level by a constant version Fork; give --version", code)
	}
}

// An application can use the release through the proxy protocol alone.
func TestRealReleaseThroughProxy(t *testing.T) {
	t.Parallel()
	p := realProject(t, Tree{"x/bsonx/bsoncore/fork.go": []byte("package bsoncore\n\n// Forked is new.\nfunc Forked() string { return \"the fork\" }\n")})
	dir := t.TempDir()
	_, err := p.Release(t.Context(), dir, realBase+"-fork.1")
	require.NoError(t, err)

	goSum, binary := buildWithRelease(t, dir, realBase+"-fork.1",
		"package main\n\nimport \""+realModulePath+"/x/bsonx/bsoncore\"\n\nfunc main() { print(bsoncore.Forked()) }\n")
	released, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	require.NoError(t, err)
	for line := range bytes.Lines(released) {
		require.Contains(t, goSum, string(line), "the go command computes the sums that the release states")
	}
	content, err := os.ReadFile(binary)
	require.NoError(t, err)
	require.True(t, bytes.Contains(content, []byte("the fork")))
}

// The repository's own release is the same bytes each time, for every base.
func TestRepositoryReleaseIsReproducible(t *testing.T) {
	t.Parallel()
	realModule(t)
	bases, err := (&Project{Root: repositoryRoot}).Bases()
	require.NoError(t, err)
	require.NotEmpty(t, bases)
	for _, base := range bases {
		t.Run(base, func(t *testing.T) {
			t.Parallel()
			first, err := ReadTree(releaseOfRepository(t, base))
			require.NoError(t, err)
			second, err := ReadTree(releaseOfRepository(t, base))
			require.NoError(t, err)
			require.NotEmpty(t, first)
			require.Empty(t, Compare(first, second))
		})
	}
}

// A fresh application that uses what the fork adds needs the released files only.
func TestRepositoryReleaseInAFreshModule(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the whole driver")
	}
	t.Parallel()
	realModule(t)
	_, binary := buildWithRelease(t, releaseOfRepository(t, realBase), realBase+"-fork.1", `package main

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

func main() {
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://localhost/?adaptiveRetries=true"))
	if err != nil {
		panic(err)
	}
	fmt.Println(client.RetryTokens())
}
`)
	out, err := runCommand(t.Context(), t.TempDir(), nil, binary)
	require.NoError(t, err)
	require.Equal(t, "1000 true\n", string(out))
}

// releaseOfRepository releases the fork as it is in this repository and returns
// the folder.
func releaseOfRepository(t *testing.T, base string) string {
	t.Helper()
	dir := t.TempDir()
	p := &Project{Root: repositoryRoot, Base: base, Source: ModuleCache{Run: runCommand}}
	version, err := p.ReleaseVersion(t.Context())
	require.NoError(t, err)
	_, err = p.Release(t.Context(), dir, version)
	require.NoError(t, err)
	return dir
}

// buildWithRelease builds a program in a fresh module that has the driver
// replaced by a released version, and returns its go.sum and the binary's path.
func buildWithRelease(t *testing.T, release, version, program string) (goSum, binary string) {
	t.Helper()
	app := Tree{
		"go.mod":  []byte("module app\n\ngo 1.19\n\nrequire " + realModulePath + " " + realBase + "\n\nreplace " + realModulePath + " => " + realModulePath + " " + version + "\n"),
		"main.go": []byte(program),
	}
	at := t.TempDir()
	require.NoError(t, app.write(at))
	proxies, err := runCommand(t.Context(), at, nil, "go", "env", "GOMODCACHE", "GOPROXY")
	require.NoError(t, err)
	cache, proxy, _ := strings.Cut(strings.TrimSpace(string(proxies)), "\n")
	env := []string{
		// A module cache of its own: the shared one would keep this release.
		"GOMODCACHE=" + filepath.Join(t.TempDir(), "mod"), "GOFLAGS=-mod=mod -modcacherw -trimpath", "GOWORK=off", "GOSUMDB=off",
		"GOPROXY=" + fileURL(release) + "," + fileURL(filepath.Join(cache, "cache", "download")) + "," + proxy,
	}
	binary = filepath.Join(at, "app.exe") // a name that all systems run
	_, err = runCommand(t.Context(), at, env, "go", "build", "-o", binary, ".")
	require.NoError(t, err)
	sums, err := os.ReadFile(filepath.Join(at, "go.sum"))
	require.NoError(t, err)
	return string(sums), binary
}

func fileURL(dir string) string {
	slashed := filepath.ToSlash(dir)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed
	}
	return "file://" + slashed
}

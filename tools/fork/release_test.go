package fork

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/dirhash"

	"mongofork/tools/command"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/output"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/upstream"
)

func forkFile(level string) string { return "package version\n\nconst Fork = \"" + level + "\"\n" }

// releasable adds the patch level to an overlay.
func releasable(level string, files filetree.Tree) filetree.Tree {
	folders := "pool\nversion\n"
	for name := range files {
		if strings.HasPrefix(name, "x/") {
			folders = "x\nversion\n"
		}
	}
	files[plan.FoldersFile], files["version/fork.go"] = []byte(folders), []byte(forkFile(level))
	return files
}

func TestRelease(t *testing.T) {
	t.Parallel()
	p := builtProject(t, releasable("fork.2", overlayOf("func added() {}\n")))
	dir := t.TempDir()
	r, err := p.Release(t.Context(), dir, false)
	require.NoError(t, err)
	base := "example.com/driver/v2/@v/v2.0.0-fork.2"
	require.Equal(t, []string{"example.com/driver/v2/@v/list", base + ".info", base + ".mod", base + ".zip"}, r.Files)
	sum, err := dirhash.HashZip(filepath.Join(dir, base+".zip"), dirhash.Hash1)
	require.NoError(t, err)
	require.Equal(t, sum, r.Sum)
	first, err := filetree.Read(dir)
	require.NoError(t, err)
	require.Equal(t, "{\"Version\":\"v2.0.0-fork.2\"}\n", string(first[base+".info"]))
	goModSum, err := filetree.Tree{"go.mod": first[base+".mod"]}.Hash("")
	require.NoError(t, err)
	goSum := "example.com/driver/v2 v2.0.0-fork.2 " + r.Sum + "\nexample.com/driver/v2 v2.0.0-fork.2/go.mod " + goModSum + "\n"
	require.Equal(t, goSum, string(first["go.sum"]))
	for _, name := range r.Files {
		require.Contains(t, string(first["SHA256SUMS"]), filetree.Digest(first[name])+"  "+name+"\n")
	}

	_, err = p.Release(t.Context(), dir, false)
	require.NoError(t, err, "the same again is no change")
	second, err := filetree.Read(dir)
	require.NoError(t, err)
	require.Equal(t, first, second)

	p.put(t, "version/fork.go", forkFile("fork.10"))
	_, err = p.Release(t.Context(), dir, false)
	require.NoError(t, err)
	list, err := os.ReadFile(filepath.Join(dir, "example.com/driver/v2/@v/list"))
	require.NoError(t, err)
	require.Equal(t, "v2.0.0-fork.10\n", string(list), "another version takes its place")

	other := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(other, "thesis.txt"), nil, 0o600))
	_, err = p.Release(t.Context(), other, false)
	require.ErrorContains(t, err, "the folder has something else than a release")
}

// Once a version is released for good, nothing else is released under its name: not on another base, either, for adapters.
func TestReleasedVersionNeverChanges(t *testing.T) {
	t.Parallel()
	p := builtProject(t, releasable("fork.2", overlayOf("func added() {}\n")))
	changed := "package pool\n\nfunc added() { taken() }\n"
	release := func(final bool) error {
		_, err := p.Release(t.Context(), t.TempDir(), final)
		return err
	}
	require.NoError(t, release(false))
	require.NoFileExists(t, filepath.Join(p.Root, output.ReleasedFile), "a trial")
	require.NoError(t, release(true))
	first := p.read(t, output.ReleasedFile)
	require.Regexp(t, "^example.com/driver/v2 v2.0.0-fork.2 h1:.*\nexample.com/driver/v2 v2.0.0-fork.2/go.mod h1:.*\n$", first)

	p.put(t, "pool/overlay.go", changed)
	for _, final := range []bool{false, true} {
		require.EqualError(t, release(final), "etc/released.sum:1: example.com/driver/v2 v2.0.0-fork.2 was released with different content\n"+
			"  fix: raise Fork in version/fork.go")
	}
	p.put(t, "version/fork.go", forkFile("fork.10"))
	require.NoError(t, release(true))
	second := p.read(t, output.ReleasedFile)
	require.Contains(t, second, first)
	require.NoError(t, release(true))
	require.Equal(t, second, p.read(t, output.ReleasedFile), "the same again")
	p.put(t, "version/fork.go", forkFile("fork.2"))
	require.ErrorContains(t, release(true), "v2.0.0-fork.2 was released with different content", "versions are remembered, not only the last")
	p.put(t, "version/fork.go", forkFile("fork.10"))

	p.put(t, "LICENSE", "Licence\n")
	p.put(t, "contrib/otel/go.mod", "module example.internal/a\n")
	p.put(t, "contrib/otel/a.go", "package a\n")
	require.NoError(t, release(true))
	p.put(t, "contrib/otel/a.go", "package a\n\n// A is new.\nconst A = 1\n")
	require.ErrorContains(t, release(true), ": example.internal/a v0.0.0-fork.10 was released with different content")
}

// What the fork calls itself, in handshakes and logs, is what it is released as.
func TestReleaseIsWhatTheForkCallsItself(t *testing.T) {
	t.Parallel()
	p := builtProject(t, releasable("acme.3", overlayOf("func added() {}\n")))
	r, err := p.Release(t.Context(), t.TempDir(), false)
	require.NoError(t, err)
	require.Equal(t, "v2.0.0-acme.3", r.Version)
	for _, code := range []string{"const Fork = 1", "var Fork = \"fork.1\"", "const Fork = \"a\" + \"b\"", "const Other = \"fork.1\""} {
		p.put(t, "version/fork.go", "package version\n\n"+code+"\n")
		_, err = p.ReleaseVersion(t.Context())
		require.EqualError(t, err, "version/fork.go does not name the patch level by a constant Fork", code)
	}
}

// Adapters are released with the fork, without what is for work in the repository.
func TestReleaseOfAdapters(t *testing.T) {
	t.Parallel()
	p := builtProject(t, releasable("fork.7", filetree.Tree{"pool/overlay.go": []byte("package pool\n\nfunc added() {}\n"), "LICENSE": []byte("Licence\n"),
		"contrib/otel/go.mod": []byte("module example.internal/a\n\ngo 1.25.0\n\nreplace example.com/driver/v2 => ../../build/v2.0.0\n\nrequire example.com/driver/v2 v2.0.0\n"),
		"contrib/otel/a.go":   []byte("package a\n"), "contrib/README.md": []byte("none\n"),
		"contrib/tests/go.mod": []byte("module example.internal/tests\n"), "contrib/tests/a_test.go": []byte("package tests\n")}))
	dir := t.TempDir()
	r, err := p.Release(t.Context(), dir, false)
	require.NoError(t, err)
	const base = "example.internal/a/@v/v0.0.0-fork.7"
	require.Contains(t, r.Files, base+".zip")
	require.NotContains(t, strings.Join(r.Files, " "), "example.internal/tests", "there is nothing to import")
	tree, err := filetree.Read(dir)
	require.NoError(t, err)
	require.Equal(t, "module example.internal/a\n\ngo 1.25.0\n\nrequire example.com/driver/v2 v2.0.0\n", string(tree[base+".mod"]))
	require.Equal(t, "v0.0.0-fork.7\n", string(tree["example.internal/a/@v/list"]))
	require.Contains(t, string(tree["go.sum"]), "\nexample.internal/a v0.0.0-fork.7 h1:")
	require.Contains(t, string(tree["SHA256SUMS"]), filetree.Digest(tree[base+".zip"])+"  "+base+".zip\n")
	archive, err := zip.NewReader(bytes.NewReader(tree[base+".zip"]), int64(len(tree[base+".zip"])))
	require.NoError(t, err)
	var names []string
	for _, f := range archive.File {
		names = append(names, strings.TrimPrefix(f.Name, "example.internal/a@v0.0.0-fork.7/"))
	}
	require.Equal(t, []string{"LICENSE", "a.go", "go.mod"}, names)
}

// An application can use the release through the proxy protocol alone.
func TestRealReleaseThroughProxy(t *testing.T) {
	t.Parallel()
	p := realProject(t, releasable("fork.1", filetree.Tree{"x/bsonx/bsoncore/fork.go": []byte("package bsoncore\n\n// Forked is new.\nfunc Forked() string { return \"the fork\" }\n")}))
	dir := t.TempDir()
	_, err := p.Release(t.Context(), dir, false)
	require.NoError(t, err)

	goSum, binary := buildWithRelease(t, dir, realBase, realBase+"-fork.1",
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
	eachBase(t, func(t *testing.T, p *Project) {
		first, err := filetree.Read(releaseOfRepository(t, p.Base))
		require.NoError(t, err)
		second, err := filetree.Read(releaseOfRepository(t, p.Base))
		require.NoError(t, err)
		require.NotEmpty(t, first)
		require.Empty(t, filetree.Changed(first, second))
	})
}

// A fresh application that uses what the fork adds, and the adapters, needs the released files only. It can tell that it was
// made for a newer driver than the fork is built on.
func TestRepositoryReleaseInAFreshModule(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the whole driver")
	}
	t.Parallel()
	realModule(t)
	const program = `package main

import (
	"fmt"

	"mongofork.internal/otel"
	"mongofork.internal/prometheus"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/version"
)

func main() {
	retries, err := mongootel.New()
	if err != nil {
		panic(err)
	}
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://localhost/?adaptiveRetries=true").
		SetRetryMonitor(mongoprom.NewCollector(nil).Monitor()))
	if err != nil {
		panic(err)
	}
	if _, err := retries.ObserveTokens(client.RetryTokens); err != nil {
		panic(err)
	}
	fmt.Println(client.RetryTokens())
	fmt.Println(version.Driver)
	fmt.Println(version.Required())
}
`
	release := releaseOfRepository(t, realBase)
	released, err := (&Project{Root: repositoryRoot, Base: realBase, Source: upstream.ModuleCache{Run: command.Output}}).ReleaseVersion(t.Context())
	require.NoError(t, err)
	names := "1000 true\n" + strings.TrimPrefix(released, "v") + "\n"
	const required = "v2.10.0"
	_, binary := buildWithRelease(t, release, required, released, program,
		"mongofork.internal/prometheus v0.0.0-"+strings.TrimPrefix(released, realBase+"-"), "mongofork.internal/otel v0.0.0-"+strings.TrimPrefix(released, realBase+"-"))
	out, err := command.Output(t.Context(), t.TempDir(), nil, binary)
	require.NoError(t, err)
	require.Equal(t, names+required+" true\n", string(out))
}

// releaseOfRepository releases the fork as it is in this repository and returns
// the folder.
func releaseOfRepository(t *testing.T, base string) string {
	t.Helper()
	dir := t.TempDir()
	p := &Project{Root: repositoryRoot, Base: base, Source: upstream.ModuleCache{Run: command.Output}}
	_, err := p.Release(t.Context(), dir, false)
	require.NoError(t, err)
	return dir
}

// buildWithRelease builds a program in a fresh module that has the driver
// replaced by a released version, and requires other modules, too. It returns its go.sum and the binary's path.
func buildWithRelease(t *testing.T, release, required, version, program string, others ...string) (goSum, binary string) {
	t.Helper()
	app := filetree.Tree{
		"go.mod": []byte("module app\n\ngo 1.25.0\n\nrequire (\n" + realModulePath + " " + required + "\n" + strings.Join(others, "\n") + "\n)\n\nreplace " +
			realModulePath + " => " + realModulePath + " " + version + "\n"),
		"main.go": []byte(program),
	}
	at := t.TempDir()
	require.NoError(t, app.Write(at))
	proxies, err := command.Output(t.Context(), at, nil, "go", "env", "GOMODCACHE", "GOPROXY")
	require.NoError(t, err)
	cache, proxy, _ := strings.Cut(strings.TrimSpace(string(proxies)), "\n")
	env := []string{
		// A module cache of its own: the shared one would keep this release.
		"GOMODCACHE=" + filepath.Join(t.TempDir(), "mod"), "GOFLAGS=-mod=mod -modcacherw -trimpath", "GOWORK=off", "GOSUMDB=off",
		"GOPROXY=" + fileURL(release) + "," + fileURL(filepath.Join(cache, "cache", "download")) + "," + proxy,
	}
	binary = filepath.Join(at, "app.exe") // a name that all systems run
	_, err = command.Output(t.Context(), at, env, "go", "build", "-o", binary, ".")
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

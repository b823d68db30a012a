package fork

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVerify(t *testing.T) {
	t.Parallel()
	p := builtProject(t, overlayOf("func added() {}\n"))
	hash, err := p.Verify(t.Context())
	require.NoError(t, err)
	require.Contains(t, p.read(t, p.LockFile()), "output "+hash+"\n")

	p.put(t, "pool/overlay.go", "package pool\n\nfunc added() { taken() }\n")
	_, err = p.Verify(t.Context())
	require.ErrorContains(t, err, "etc/bases/v2.0.0/fork.lock: the output's hash is h1:")
	require.ErrorContains(t, err, "fix: go run ./tools/cmd/mongofork diff, then go run ./tools/cmd/mongofork accept")
	_, err = p.Accept(t.Context(), AcceptOptions{})
	require.NoError(t, err)
	after, err := p.Verify(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, hash, after)
}

// An empty overlay gives upstream's files, byte for byte, but for go.work.
func TestEmptyOverlay(t *testing.T) {
	t.Parallel()
	p := builtProject(t, Tree{})
	_, a, err := p.Assemble(t.Context())
	require.NoError(t, err)
	want := upstream(t)[testBase]
	delete(want, "go.work")
	require.Equal(t, want, a.Tree)
	pristine, err := p.Pristine(t.Context())
	require.NoError(t, err)
	require.Equal(t, want, pristine.Tree)
}

func TestStatus(t *testing.T) {
	t.Parallel()
	p := builtProject(t, overlayOf(`//fork:wrap counts
//fork:watch platform
func retryable(err error) bool {
	return upstreamRetryable(err)
}

func added() {}
`))
	plan, err := p.Plan(t.Context())
	require.NoError(t, err)
	require.Equal(t, []StatusRow{
		{Key{"pool", "retryable"}, "wrap", "pool/overlay.go:5", 3, 1, "counts"},
		{Key{"pool", "added"}, "add", "pool/overlay.go:9", 1, 0, ""},
		{Key{"pool", "platform"}, "watch", "pool/overlay.go:4", 0, 2, ""},
	}, plan.Status())
	require.Equal(t, "0 replaced, 1 wrapped, 0 extended, 1 added, 1 watched", plan.Counts())
	require.Equal(t, []string{"pool/pool.go", "pool/overlay.go"}, plan.FilesOf(Key{"pool", "retryable"}))

	text, err := plan.CompareDecl(Key{"pool", "retryable"})
	require.NoError(t, err)
	require.Contains(t, text, "--- upstream/pool/pool.go:53\n+++ overlay/pool/overlay.go:5\n")
	text, err = plan.CompareDecl(Key{"pool", "platform"})
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(text, "func platform()"), "both build constraints")
	_, err = plan.CompareDecl(Key{"pool", "Open"})
	require.ErrorContains(t, err, "pool Open is neither touched nor watched")
}

func TestPackageNames(t *testing.T) {
	t.Parallel()
	m := &Module{Path: testModule, Tree: Tree{"odd/file.go": []byte("package even\n")}}
	o := &Overlay{}
	s, err := parseSource("fresh/a.go", []byte("package new\n"))
	require.NoError(t, err)
	o.Files = append(o.Files, &OverlayFile{Path: "fresh/a.go", Source: s})
	for path, want := range map[string]string{
		testModule + "/odd":      "even",
		testModule + "/fresh":    "new",
		testModule + "/none":     "none",
		"math/rand/v2":           "rand",
		"net/http":               "http",
		"example.com/go-thing":   "thing",
		"gopkg.in/yaml.v3":       "yaml",
		"example.com/x/thing/v3": "thing",
		"v2":                     "v2",
	} {
		require.Equal(t, want, packageNamer{m, o}.name(path), path)
	}
}

func TestOverlayLinkIsRefused(t *testing.T) {
	t.Parallel()
	p := builtProject(t, Tree{})
	if err := os.Symlink("../conn/.keep", filepath.Join(p.Root, "pool", "link.txt")); err != nil {
		t.Skipf("this system has no symbolic links: %v", err)
	}
	require.EqualError(t, build(t, p, false), "pool/link.txt: not a regular file; module zips and go mod vendor drop it\n  fix: replace it with a copy")
}

func TestLibraryName(t *testing.T) {
	t.Parallel()
	for want, files := range map[string][]string{
		"pool": {"//go:build ignore\n\npackage main\n", "package pool\n"},
		"main": {"//go:build ignore\n\npackage main\n"},
		"":     nil,
	} {
		var sources []*SourceFile
		for _, code := range files {
			s, err := parseSource("a.go", []byte(code))
			require.NoError(t, err)
			sources = append(sources, s)
		}
		require.Equal(t, want, libraryName(sources))
	}
	s, err := parseSource("a_test.go", []byte("package pool_test\n"))
	require.NoError(t, err)
	require.Equal(t, "pool", libraryName([]*SourceFile{s}), "only external tests")
}

func TestWithoutDirectives(t *testing.T) {
	t.Parallel()
	const code = "package p\n\n// Doc.\n//\n//fork:replace x\nfunc f() {}\n\n//fork:watch A\nfunc g() {}\n"
	s, err := parseSource("p.go", []byte(code))
	require.NoError(t, err)
	require.Equal(t, "package p\n\n// Doc.\nfunc f() {}\n\nfunc g() {}\n", string(withoutDirectives(s, 0, len(code))))
}

func TestNameTags(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"pool.go": "", "linux.go": "", "pool_linux.go": "linux", "pool_linux_arm64.go": "linux && arm64",
		"pool_amd64_test.go": "test && amd64", "pool_other.go": "", "pool_arm64_linux.go": "linux",
	} {
		s, err := parseSource(name, []byte("package pool\n"))
		require.NoError(t, err)
		require.Equal(t, want, s.Constraint, name)
	}
	s, err := parseSource("pool_linux.go", []byte("//go:build cgo && (a||b)\n\npackage pool\n"))
	require.NoError(t, err)
	require.Equal(t, "linux && cgo && (a || b)", s.Constraint)
}

package fork

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
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
	p := builtProject(t, filetree.Tree{})
	_, a, err := p.Assemble(t.Context())
	require.NoError(t, err)
	want := driverVersions(t)[testBase]
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
		{syntax.Key{Package: "pool", Name: "retryable"}, "wrap", "pool/overlay.go:5", 3, 1, "counts"},
		{syntax.Key{Package: "pool", Name: "added"}, "add", "pool/overlay.go:9", 1, 0, ""},
		{syntax.Key{Package: "pool", Name: "platform"}, "watch", "pool/overlay.go:4", 0, 2, ""},
	}, plan.Status())
	require.Equal(t, "0 replaced, 1 wrapped, 0 extended, 1 added, 1 watched", plan.Counts())
	require.Equal(t, []string{"pool/pool.go", "pool/overlay.go"}, plan.FilesOf(syntax.Key{Package: "pool", Name: "retryable"}))

	text, err := plan.CompareDecl(syntax.Key{Package: "pool", Name: "retryable"})
	require.NoError(t, err)
	require.Contains(t, text, "--- upstream/pool/pool.go:53\n+++ overlay/pool/overlay.go:5\n")
	text, err = plan.CompareDecl(syntax.Key{Package: "pool", Name: "platform"})
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(text, "func platform()"), "both build constraints")
	_, err = plan.CompareDecl(syntax.Key{Package: "pool", Name: "Open"})
	require.ErrorContains(t, err, "pool Open is neither touched nor watched")
}

func TestPackageNames(t *testing.T) {
	t.Parallel()
	m := &upstream.Module{Path: testModule, Tree: filetree.Tree{"odd/file.go": []byte("package even\n")}}
	o := &Overlay{}
	s, err := syntax.Parse("fresh/a.go", []byte("package new\n"))
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
		require.Equal(t, want, packageNames(m, o).Name(path), path)
	}
}

func TestOverlayLinkIsRefused(t *testing.T) {
	t.Parallel()
	p := builtProject(t, filetree.Tree{})
	if err := os.Symlink("../conn/.keep", filepath.Join(p.Root, "pool", "link.txt")); err != nil {
		t.Skipf("this system has no symbolic links: %v", err)
	}
	require.EqualError(t, build(t, p, false), "pool/link.txt: not a regular file; module zips and go mod vendor drop it\n  fix: replace it with a copy")
}

func TestWithoutDirectives(t *testing.T) {
	t.Parallel()
	const code = "package p\n\n// Doc.\n//\n//fork:replace x\nfunc f() {}\n\n//fork:watch A\nfunc g() {}\n"
	s, err := syntax.Parse("p.go", []byte(code))
	require.NoError(t, err)
	require.Equal(t, "package p\n\n// Doc.\nfunc f() {}\n\nfunc g() {}\n", string(withoutDirectives(s, 0, len(code))))
}

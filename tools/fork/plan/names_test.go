package plan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
)

func TestPackageNames(t *testing.T) {
	t.Parallel()
	m := &upstream.Module{Path: "example.com/driver/v2", Tree: filetree.Tree{"odd/file.go": []byte("package even\n")}}
	o := &Overlay{}
	s, err := syntax.Parse("fresh/a.go", []byte("package new\n"))
	require.NoError(t, err)
	o.Files = append(o.Files, &File{Path: "fresh/a.go", Source: s})
	for path, want := range map[string]string{
		"example.com/driver/v2/odd":   "even",
		"example.com/driver/v2/fresh": "new",
		"example.com/driver/v2/none":  "none",
		"math/rand/v2":                "rand",
		"net/http":                    "http",
		"example.com/go-thing":        "thing",
		"gopkg.in/yaml.v3":            "yaml",
		"example.com/x/thing/v3":      "thing",
		"v2":                          "v2",
	} {
		require.Equal(t, want, PackageNames(m, o).Name(path), path)
	}
}

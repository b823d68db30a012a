package plan

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/problem"
)

func TestParseLockMistakes(t *testing.T) {
	t.Parallel()
	hash := "sha256:" + strings.Repeat("0", 64)
	head := "module m v1.0.0\nsum h1:a\ngomod h1:b\ngo 1.19\n"
	for text, want := range map[string]string{
		head + "replace pool":                            "f:5: the lock line \"replace\" is wrong",
		head + "replace pool A sha256:12":                "f:5: the lock line \"replace\" is wrong",
		head + "replace ../pool A " + hash:               "f:5: the lock line \"replace\" is wrong",
		head + "wrap p A " + hash + "\nwrap p A " + hash: "f:6: the lock line \"wrap\" is wrong",
		head + "go 1.20":                                 "f:5: the lock line \"go\" is wrong",
		"# empty\n":                                      "f: the lock lacks one of its lines module, sum, gomod and go",
	} {
		_, err := ParseLock("f", []byte(text))
		require.ErrorContains(t, err, want)
		require.ErrorAs(t, err, &problem.List{})
	}
}

package specs

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseBase(t *testing.T) {
	pins := []Revision{{Name: "a"}, {Name: "b"}}
	base, err := parseBase("# comment\n\nfork b\nupstream a\n", "f", pins)
	require.NoError(t, err)
	assert.Equal(t, Base{Upstream: "a", Fork: "b"}, base)

	for text, want := range map[string]string{
		"upstream a\n":         `f: the line "fork NAME" is missing`,
		"fork b\n":             `f: the line "upstream NAME" is missing`,
		"fork b\nother a\n":    `f:2: want "upstream NAME" or "fork NAME", got "other a"`,
		"fork\n":               `f:1: want "upstream NAME" or "fork NAME", got "fork"`,
		"fork b\nupstream c\n": "f:2: etc/specifications pins no revision c",
	} {
		_, err := parseBase(text, "f", pins)
		assert.EqualError(t, err, want)
	}
}

// TestEveryBase is about the repository's own files: a base without them can be
// built, but not tested.
func TestEveryBase(t *testing.T) {
	etc := filepath.Join("..", "..", "..", "etc")
	pins, err := ReadPins(filepath.Join(etc, "specifications"))
	require.NoError(t, err)
	locks, err := filepath.Glob(filepath.Join(etc, "bases", "*", "fork.lock"))
	require.NoError(t, err)
	require.NotEmpty(t, locks)
	for _, lock := range locks {
		_, err := ReadBase(filepath.Join(filepath.Dir(lock), "specifications"), pins)
		assert.NoError(t, err)
	}
}

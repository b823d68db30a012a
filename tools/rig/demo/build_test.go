package demo

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRunShowsTheOutputOfACommandThatFails(t *testing.T) {
	t.Parallel()
	b := builder{Config: Config{Environ: os.Environ()}}
	err := b.goTool(t.Context(), t.TempDir(), "no-such-command")
	assert.ErrorContains(t, err, "go no-such-command, in ")
	assert.ErrorContains(t, err, "unknown command")
}

package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"

	"mongofork/tools/fork"
	"mongofork/tools/fork/git"
)

func TestAuthor(t *testing.T) {
	for _, name := range []string{"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "EMAIL"} {
		t.Setenv(name, "")
	}
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	a := &app{ctx: t.Context(), project: &fork.Project{Root: t.TempDir()}}
	assert.Equal(t, git.Builder, a.author(), "not configured")
	t.Setenv("GIT_AUTHOR_NAME", "C")
	t.Setenv("GIT_AUTHOR_EMAIL", "c@d")
	assert.Equal(t, "C <c@d>", a.author())
}

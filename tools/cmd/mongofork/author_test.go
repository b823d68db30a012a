package main

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"mongofork/tools/fork"
	"mongofork/tools/fork/git"
)

func TestAuthor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		config map[string]string
		want   string
	}{
		{name: "git's", config: map[string]string{"user.name": "C", "user.email": "c@d"}, want: "C <c@d>"},
		{name: "no address", config: map[string]string{"user.name": "C"}, want: git.Builder},
		{name: "not configured", want: git.Builder},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := &app{ctx: t.Context(), project: &fork.Project{}}
			a.run = func(_ context.Context, _ string, _ []string, _ string, args ...string) ([]byte, error) {
				value, ok := tt.config[args[len(args)-1]]
				if !ok {
					return nil, errors.New("exit status 1")
				}
				return []byte(value + "\n"), nil
			}
			assert.Equal(t, tt.want, a.author())
		})
	}
}

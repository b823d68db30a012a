package command

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/assert"
)

func TestRun(t *testing.T) {
	type cli struct {
		Loud bool `help:"Shout."`
	}
	broken := errors.New("broken")
	for _, test := range []struct {
		name   string
		args   []string
		err    error
		failed func(error, io.Writer) int
		code   int
		said   string // somewhere in the output
	}{
		{name: "done", args: []string{"--loud"}, code: ExitOK},
		{name: "help", args: []string{"--help"}, code: ExitOK, said: "Does nothing."},
		{name: "unknown flag", args: []string{"--lud"}, code: ExitUsage, said: "idle: unknown flag --lud"},
		{name: "failed", err: broken, code: ExitFailed, said: "idle: broken\n"},
		{name: "a code of its own", err: broken, failed: func(error, io.Writer) int { return 7 }, code: 7},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			var c cli
			done := false
			code := Program{
				Name: "idle", Description: "Does nothing.", CLI: &c, Failed: test.failed,
				Do: func(*kong.Context) error {
					done = true
					assert.Equal(t, len(test.args) > 0, c.Loud)
					return test.err
				},
			}.Run(test.args, &out, &out)
			assert.Equal(t, test.code, code)
			assert.Contains(t, out.String(), test.said)
			assert.Equal(t, test.code != ExitUsage && test.name != "help", done)
		})
	}
}

func TestRunParserOptions(t *testing.T) {
	var c struct {
		Base string `default:"${base}"`
	}
	code := Program{Name: "idle", CLI: &c, Options: []kong.Option{kong.Vars{"base": "v1"}},
		Do: func(*kong.Context) error { return nil }}.Run(nil, io.Discard, io.Discard)
	assert.Equal(t, ExitOK, code)
	assert.Equal(t, "v1", c.Base)
}

package command

import (
	"errors"
	"io"
	"os/exec"
	"runtime"
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

// A line that is pasted does what it says, whatever folders are called.
func TestQuote(t *testing.T) {
	t.Parallel()
	words := []string{"-C", "/a folder/it's \"here\"", "", "$HOME", "~", "a*", "größe", "a;b", `back\slash`}
	if runtime.GOOS != "windows" {
		out, err := exec.Command("sh", "-c", "printf '%s\\n' "+Quote(words...)).Output()
		assert.NoError(t, err)
		assert.Equal(t, strings.Join(words, "\n")+"\n", string(out))
	}
	assert.Equal(t, "-C /a/b", quote(false, []string{"-C", "/a/b"}))
	assert.Equal(t, `C:\a "C:\a b"`, quote(true, []string{`C:\a`, `C:\a b`}))
}

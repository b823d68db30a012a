package gotest

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPattern(t *testing.T) {
	tests := []struct{ test, want string }{
		{"TestA", "^TestA$"},
		{"TestA/b(c)/d|e", `^TestA$/^b\(c\)$/^d\|e$`},
		{"TestA/0xADDRESS_x", "^TestA$/^0x[0-9a-f]+_x$"},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, Pattern(tt.test))
	}
	assert.Equal(t, `^(TestA|TestB)$`, AnyOf([]string{"TestA", "TestB"}))
	assert.False(t, regexp.MustCompile(AnyOf([]string{"TestA"})).MatchString("TestAB"))
}

func TestArgs(t *testing.T) {
	c := Command{Flags: []string{"-race"}, Run: "^TestA$", Packages: []string{"./p"}}
	assert.Equal(t, []string{"test", "-json", "-count=1", "-timeout=1h", "-race", "-run=^TestA$", "./p"}, c.Args())
}

// module writes a module with one test file and returns a command that tests it.
func module(t *testing.T, test string) Command {
	t.Helper()
	dir := t.TempDir()
	write := func(name, content string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	write("go.mod", "module example.com/m\n\ngo 1.19\n")
	write("m_test.go", "package m\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nvar _ = os.Exit\n\n"+test)
	return Command{Dir: dir, Env: append(os.Environ(), "GOWORK=off"), Packages: []string{"./..."}}
}

func TestGoRunsTheRealThing(t *testing.T) {
	command := module(t, `func TestPass(t *testing.T) {}

func TestSkip(t *testing.T) { t.Skip("because") }

func TestFail(t *testing.T) { t.Run("sub", func(t *testing.T) { t.Error("broken") }) }

func TestDie(t *testing.T) { os.Exit(3) }
`)
	result, err := Go(t.Context(), command)
	require.NoError(t, err)
	outcome := func(test string) Outcome { return result.Outcome(Key{Package: "example.com/m", Test: test}) }
	assert.Equal(t, Passed, outcome("TestPass"))
	assert.Equal(t, Skipped, outcome("TestSkip"))
	assert.Equal(t, Failed, outcome("TestFail/sub"))
	assert.Equal(t, Failed, outcome("TestDie"), "the process ended before this had a result")
	assert.Equal(t, "because", result.Cases()[3].Reason())
}

func TestGoReportsACompileErrorAsAFailedPackage(t *testing.T) {
	result, err := Go(t.Context(), module(t, "func TestA(t *testing.T) { undefined() }\n"))
	require.NoError(t, err)
	require.Len(t, result.Cases(), 1)
	c := result.Cases()[0]
	assert.Equal(t, Failed, c.Outcome)
	assert.Contains(t, c.Output[0]+c.Output[len(c.Output)-1], "undefined")
}

func TestGoFailsWhenNothingCouldBeRun(t *testing.T) {
	command := module(t, "")
	command.Flags = []string{"-parallel=many"}
	_, err := Go(t.Context(), command)
	assert.ErrorContains(t, err, "parallel")
}

func TestGoStopsWithItsContext(t *testing.T) {
	command := module(t, "func TestA(t *testing.T) { os.WriteFile(\"started\", nil, 0o600); select {} }\n")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for {
			if _, err := os.Stat(filepath.Join(command.Dir, "started")); err == nil || ctx.Err() != nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	_, err := Go(ctx, command)
	assert.ErrorIs(t, err, context.Canceled)
}

package suite

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// script writes an event stream of lines "action package test output"; the last two may be missing, and "-" is an empty test.
func script(t *testing.T, text string) string {
	t.Helper()
	var stream strings.Builder
	for line := range strings.SplitSeq(text, "; ") {
		words := strings.SplitN(line, " ", 4)
		e := event{Action: words[0], Package: Module + "/" + words[1]}
		if len(words) > 2 && words[2] != "-" {
			e.Test = words[2]
		}
		if len(words) > 3 {
			e.Output = words[3] + "\n"
		}
		text, err := json.Marshal(e)
		require.NoError(t, err)
		stream.Write(append(text, '\n'))
	}
	return stream.String()
}

func TestParse(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ stream, want string }{
		"passes, failures and skips": {
			"start p; run p TestA; pass p TestA; run p TestB; fail p TestB; run p TestC; skip p TestC; fail p",
			"p TestA pass, p TestB fail, p TestC skip"},
		"package without tests":      {"start p; skip p", ""},
		"all tests are filtered out": {"start p; output p - ok p [no tests to run]; pass p", ""},
		"subtests instead of parents": {
			"start p; run p TestA; run p TestA/x; fail p TestA/x; fail p TestA; fail p", "p TestA/x fail"},
		"parent that fails by itself": {
			"start p; run p TestA; run p TestA/x; pass p TestA/x; fail p TestA; fail p", "p TestA fail, p TestA/x pass"},
		"package that does not compile": {"start p; output p - FAIL p [build failed]; fail p", "p fail"},
		"package that fails at its end": {"start p; run p TestA; pass p TestA; output p - race; fail p", "p fail, p TestA pass"},
		"binary that dies": {
			"start p; run p TestA; run p TestB; run p TestC; pass p TestC; fail p", "p TestA fail, p TestB fail, p TestC pass"},
		"stream that ends": {"start p; run p TestA; pass p TestA; start q; run q TestB", "p fail, p TestA pass, q TestB fail"},
	} {
		result, _ := parse([]byte(script(t, tt.stream)))
		var got []string
		for _, c := range result.counted() {
			got = append(got, c.String()+" "+c.outcome)
		}
		assert.Equal(t, tt.want, strings.Join(got, ", "), name)
	}
}

func TestSaid(t *testing.T) {
	t.Parallel()
	for output, want := range map[string][2]string{
		"=== RUN   TestA\n--- SKIP: TestA (0.00s)\n":                                    {"", "no reason given"},
		"=== RUN   TestA\n    a_test.go:7: no server: none\n--- SKIP: TestA\n":          {"a_test.go:7", "no server: none"},
		"    a_test.go:7: setting up\n    skip.go:70: too old\n":                        {"skip.go:70", "too old"},
		"    a_test.go:7: first\n        second\n        --- SKIP: TestA/x/y (0.00s)\n": {"a_test.go:7", "first second"},
	} {
		where, what := testCase{output: output}.said()
		assert.Equal(t, want, [2]string{where, what})
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	c := command{flags: []string{"-race"}, run: anyOf([]string{"TestA", "TestB"}), packages: []string{"./p"}}
	assert.Equal(t, "go test -json -vet=off -timeout=1h -trimpath -race -run=^(TestA|TestB)$ ./p", strings.Join(c.words(), " "))
	c = c.only([]testCase{{key: key{"./q", "TestC"}}, {key: key{"./q", "TestD/e(f)/g|h"}}})
	assert.Equal(t, `go test -json -vet=off -timeout=1h -trimpath -race -count=1 -run=^TestC$|^TestD$/^e\(f\)$/^g\|h$ ./q`,
		strings.Join(c.words(), " "))
}

// module writes a module with one test file and returns a command that tests it.
func module(t *testing.T, test string) command {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":    "module " + Module + "\n\ngo 1.19\n",
		"m_test.go": "package m\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nvar _ = os.Exit\n\n" + test,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	return command{dir: dir, env: append(os.Environ(), "GOWORK=off"), packages: []string{"./..."}}
}

func TestGoRunsTheRealThing(t *testing.T) {
	t.Parallel()
	result, err := goTest(t.Context(), module(t, `func TestPass(t *testing.T) {}

func TestSkip(t *testing.T) { t.Skip("because") }

func TestFail(t *testing.T) { t.Run("sub", func(t *testing.T) { t.Error("broken") }) }

func TestDie(t *testing.T) { os.Exit(3) }
`))
	require.NoError(t, err)
	for test, want := range map[string]string{"TestPass": passed, "TestSkip": skipped, "TestFail/sub": failed, "TestDie": failed} {
		assert.Equal(t, want, result[key{".", test}].outcome, test)
	}
	assert.True(t, result[key{".", "TestDie"}].unfinished)

	result, err = goTest(t.Context(), module(t, "func TestA(t *testing.T) { undefined() }\n"))
	require.NoError(t, err)
	require.Len(t, result.counted(), 1)
	assert.Equal(t, failed, result.counted()[0].outcome)
	assert.Contains(t, result.counted()[0].output, "undefined: undefined", "what the compiler says")

	c := module(t, "")
	c.flags = []string{"-parallel=many"}
	_, err = goTest(t.Context(), c)
	assert.ErrorContains(t, err, "parallel", "nothing could be run")
}

// What was interrupted is no result. That a command ends with its context is proved by the package process.
func TestGoStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := goTest(ctx, module(t, "func TestA(t *testing.T) {}\n"))
	assert.ErrorIs(t, err, context.Canceled)
}

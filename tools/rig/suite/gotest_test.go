package suite

import (
	"context"
	"os"
	"os/signal"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
)

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

// TestGoTest runs tests that end in every way.
func TestGoTest(t *testing.T) {
	t.Parallel()
	dir, files := t.TempDir(), filetree.Tree{"go.mod": []byte("module " + Module + "\n\ngo 1.19\n"), "none/n.go": []byte("package none\n")}
	for folder, tests := range map[string]string{
		".": `func TestRoot(t *testing.T) {}`,
		"all": `func TestFail(t *testing.T) { t.Error("wrong") }
			func TestItself(t *testing.T) { t.Run("sub", func(t *testing.T) {}); t.Error("wrong") }
			func TestParent(t *testing.T) { t.Run("sub", func(t *testing.T) { t.Error("wrong") }) }
			func TestPass(t *testing.T) {}
			func TestSkip(t *testing.T) { t.Skip("because") }`,
		"broken": `func TestA(t *testing.T) { undefined() }`,
		"dies":   `func TestA(t *testing.T) {}; func TestB(t *testing.T) { os.Exit(3) }; func TestC(t *testing.T) {}`,
		"end":    `func TestA(t *testing.T) {}; func TestMain(m *testing.M) { m.Run(); os.Exit(1) }`,
	} {
		files[folder+"/a_test.go"] = []byte("package p\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nvar _ = os.Exit\n\n" + tests)
	}
	require.NoError(t, files.Write(dir))
	c := command{dir: dir, env: append(os.Environ(), "GOWORK=off"), packages: []string{"./..."}}
	result, err := goTest(t.Context(), c)
	require.NoError(t, err)
	var got []string
	for _, c := range result.counted() {
		got = append(got, c.String()+" "+c.outcome)
	}
	assert.Equal(t, []string{". TestRoot pass", "all TestFail fail", "all TestItself fail", "all TestItself/sub pass", "all TestParent/sub fail",
		"all TestPass pass", "all TestSkip skip", "broken fail", "dies TestA pass", "dies TestB fail", "end fail", "end TestA pass"}, got)
	functions, err := readFunctions(dir)
	require.NoError(t, err)
	assert.Contains(t, functions, result[key{"./.", "TestRoot"}].key, "by the same name")
	assert.True(t, result[key{"./dies", "TestB"}].unfinished)
	assert.Contains(t, result[key{"./broken", ""}].output, "undefined: undefined", "what the compiler says")

	result, _ = parse([]byte(`{"Action": "run", "Package": "` + Module + `/cut", "Test": "TestA"}`))
	assert.True(t, result[key{"./cut", "TestA"}].unfinished, "the stream ends")

	c.run, c.packages = "^None$", []string{"./all"}
	result, err = goTest(t.Context(), c)
	require.NoError(t, err)
	assert.Empty(t, result.counted(), "all tests are filtered out")

	c.flags = []string{"-parallel=many"}
	_, err = goTest(t.Context(), c)
	assert.ErrorContains(t, err, "parallel", "nothing could be run")

	// What was interrupted is no result, even if a test has failed. That a command ends with its context is proved by the package
	// process.
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt)
	defer stop()
	const interrupts = `echo '{"Action": "fail", "Package": "p", "Test": "TestA"}'; kill -INT $PPID; sleep 60`
	_, err = goTest(ctx, command{dir: dir, through: []string{"sh", "-c", interrupts}})
	assert.ErrorIs(t, err, context.Canceled)
}

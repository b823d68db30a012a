package suite

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/forktest"
	"mongofork/tools/rig/pypi"
	"mongofork/tools/rig/server"
	"mongofork/tools/rig/specs"
)

// fixture is a repository with a fork whose overlay adds TestOurs in the packages p and internal/integration/unified, and a fake go test.
type fixture struct {
	*Rig
	// answer returns the lines "package Test outcome [message]" of a run.
	answer func(command) []string
	mu     sync.Mutex
	runs   []command
}

func newFixture(t *testing.T, answer func(command) []string) *fixture {
	t.Helper()
	f := &fixture{answer: answer}
	f.Rig = &Rig{
		Root: t.TempDir(), Base: "v1.0.0", Revisions: specs.Base{Upstream: "new", Fork: "new"},
		Environ: []string{"A=b", "GOWORK=on", "MONGODB_URI=x"},
		Project: func(context.Context, string) (specs.Project, error) {
			return specs.Project{Dir: f.file("project")}, nil
		},
		Open: func(_ context.Context, cfg server.Config) (*server.Deployment, error) {
			name := cmp.Or(cfg.Name, server.Pinned)
			return &server.Deployment{Name: name, Version: "1.2", URI: "mongodb://u:secret@" + name}, nil
		},
		run: func(_ context.Context, c command) (cases, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.runs = append(f.runs, c)
			return results(f.answer(c)...), nil
		},
		Log: log.New(io.Discard, "", 0),
	}
	ours := []byte("package p\n\nfunc TestOurs(t *testing.T) {}\n")
	theirs := []byte("package p\n\nfunc TestA(t *testing.T) {}\n\nfunc Testing() {}\n\nfunc TestMain(m *testing.M) {}\n")
	require.NoError(t, filetree.Tree{"build/v1.0.0/p/ours_test.go": ours, "build/v1.0.0/internal/integration/unified/ours_test.go": ours,
		"build/v1.0.0/p/p_test.go": theirs, "build/pristine/v1.0.0/p/p_test.go": theirs}.Write(f.Root))
	return f
}

func (f *fixture) write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, filetree.Tree{name: []byte(text)}.Write(f.Root))
}

// one runs a suite, and returns the result of its first part.
func (f *fixture) one(t *testing.T, name string) Result {
	t.Helper()
	results, err := f.Run(t.Context(), []string{name})
	require.NoError(t, err)
	return results[0]
}

func results(lines ...string) cases {
	outcomes := map[string]string{"passed": passed, "failed": failed, "skipped": skipped}
	all := cases{}
	for _, line := range lines {
		words := append(strings.SplitN(line, " ", 4), "")
		k := key{"./" + words[0], words[1]}
		all[k] = testCase{k, outcomes[words[2]], words[3], words[3] == "died"}
	}
	return all
}

func counts(r Result) string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", r.Passed, len(r.Failures), len(r.Skips))
}

// TestUpstream is about the verdicts on a test of upstream's: one that fails in the fork, is in the skip list, or is not in the fork.
func TestUpstream(t *testing.T) {
	t.Parallel()
	const passes, fails, dies = "p TestA passed", "p TestA failed     a_test.go:7: wrong", "p TestA failed died"
	const entry = "- {reason: it changed, successor: p TestOurs, tests: [p TestA]}\n"
	listed := func(from, to string) string { return strings.Replace(entry, from, to, 1) }
	for _, tt := range []struct {
		name           string
		fork, pristine []string // outcomes of TestA, run after run; the last one repeats
		list, lost     string
		want, problem  string
		runs           int
	}{
		{"passes", []string{passes}, nil, "", "", "1 passed, 0 failed, 0 skipped", "", 1},
		{"is skipped", []string{"p TestA skipped     a.go:1: too old"}, nil, "", "", "0 passed, 0 failed, 1 skipped", "", 1},
		{"fails upstream as well", []string{fails}, []string{fails}, "", "", "0 passed, 0 failed, 1 skipped", "", 2},
		{"fails in the fork alone", []string{fails}, []string{passes}, "", "", "0 passed, 1 failed, 0 skipped",
			"does not fail so in the untouched", 7},
		{"fails otherwise upstream", []string{fails}, []string{"p TestA failed     a_test.go:8: wrong"}, "", "",
			"0 passed, 1 failed, 0 skipped", "does not fail so", 7},
		{"fails once", []string{fails, passes}, []string{passes}, "", "", "1 passed, 0 failed, 0 skipped", "", 3},
		{"fails upstream at last", []string{fails}, []string{passes, fails}, "", "", "0 passed, 0 failed, 1 skipped", "", 4},
		{"dies once", []string{dies, passes}, nil, "", "", "1 passed, 0 failed, 0 skipped", "", 2},
		{"does not compile, like upstream", []string{"p  failed boom"}, []string{"p  failed boom"}, "", "", "0 passed, 1 failed, 0 skipped",
			"pfailed", 1},
		{"is ours", []string{"p TestOurs/x failed"}, []string{"p TestOurs/x failed"}, "", "", "0 passed, 1 failed, 0 skipped", "failed", 1},
		{"is listed", []string{fails}, nil, entry, "", "0 passed, 0 failed, 1 skipped", "", 1},
		{"is listed, and passes", []string{passes}, nil, entry, "", "1 passed, 1 failed, 0 skipped", "p TestA passes in the fork", 1},
		{"is listed, and not there", []string{passes}, nil, listed("TestA", "TestX"), "", "1 passed, 1 failed, 0 skipped",
			"is not a test that was run", 1},
		{"is listed, but no successor is", []string{fails}, nil, listed("TestOurs", "TestNone"), "", "0 passed, 1 failed, 1 skipped",
			`p TestNone"`, 1},
		{"is listed, and skipped with its parent", []string{"p TestA skipped"}, nil, listed("TestA", "TestA/x"), "",
			"0 passed, 0 failed, 1 skipped", "", 1},
		{"is lost", []string{passes}, nil, "", "TestLost", "1 passed, 1 failed, 0 skipped", "upstream has this test, but the fork does not", 1},
		{"is listed as lost", []string{passes}, nil, listed("TestA", "TestLost"), "TestLost", "1 passed, 0 failed, 0 skipped", "", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, func(c command) []string {
				list := &tt.fork
				if strings.Contains(c.dir, "pristine") {
					list = &tt.pristine
				}
				line := (*list)[0]
				if len(*list) > 1 {
					*list = (*list)[1:]
				}
				return []string{line}
			})
			f.write(t, "etc/bases/v1.0.0/skips", tt.list)
			if tt.lost != "" {
				f.write(t, "build/pristine/v1.0.0/p/more_test.go", "package p\n\nfunc "+tt.lost+"(t *testing.T) {}\n")
			}
			r := f.one(t, "upstream")
			assert.Equal(t, tt.want, counts(r))
			assert.Len(t, f.runs, tt.runs)
			if len(r.Failures) > 0 {
				assert.Contains(t, r.Failures[0].Name+r.Failures[0].What, tt.problem)
			}
			first, last := f.runs[0], f.runs[len(f.runs)-1]
			assert.Contains(t, first.flags, "-skip=^(TestOurs)$")
			assert.Equal(t, []string{"A=b", "GOWORK=on", "MONGODB_URI=x", "MONGODB_URI=", "PROJECT_DIRECTORY=", "SPECIFICATIONS_INCOMPLETE=",
				"GOWORK=off", "PROJECT_DIRECTORY=" + f.file("project")}, first.env, "the last one counts")
			if tt.runs > 2 {
				assert.Equal(t, "^TestA$", last.run)
				assert.Equal(t, []string{"./p"}, last.packages)
			}
		})
	}
}

// TestPackages is about a tree that is to become the fork: a test that only it has must pass, upstream's may fail as in the untouched
// module.
func TestPackages(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(command) []string { return []string{"p TestA failed", "p TestNew failed"} })
	f.write(t, "build/series/v1.0.0.tree/p/new_test.go", "package p\n\nfunc TestNew(t *testing.T) {}\n")
	results, err := f.Packages(t.Context(), "build/series/v1.0.0.tree", []string{"./p"})
	require.NoError(t, err)
	assert.Equal(t, "0 passed, 1 failed, 1 skipped", counts(results[0]))
	assert.Equal(t, []string{"./p"}, f.runs[0].packages)
	assert.Contains(t, f.runs[0].flags, "-short")
}

func TestOurTestsHaveToRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(command) []string { return []string{"p TestA passed"} })
	r := f.one(t, "fork")
	assert.Equal(t, "1 passed, 1 failed, 0 skipped", counts(r))
	assert.Equal(t, "p TestOurs", r.Failures[0].Name)
	assert.Equal(t, "did not run", r.Failures[0].What)
	assert.Equal(t, "^(TestOurs)$", f.runs[0].run)
	assert.Equal(t, []string{"./p"}, f.runs[0].packages)
	assert.NotContains(t, f.runs[0].flags, fresh, "Go's cache knows what has not changed")
}

// TestSpec is about the pinned servers: what needs a newer one than the mongod runs on SecantusDB.
func TestSpec(t *testing.T) {
	t.Parallel()
	const u = "internal/integration/unified "
	f := newFixture(t, func(c command) []string {
		switch {
		case c.run == long:
			return []string{u + "TestUnifiedSpec/retryable-reads/old.json/a passed"}
		case slices.ContainsFunc(c.env, func(v string) bool { return strings.HasSuffix(v, server.SecantusDB) }):
			return []string{u + "TestUnifiedSpec/crud/new.json/b passed", "internal/integration/unified  passed"}
		}
		return []string{
			u + "TestOurs passed", u + "TestUnifiedSpec/crud/new.json/c passed",
			u + "TestUnifiedSpec/crud/new.json/b skipped     x.go:1: server version 6.0 is lower than min required version 7.0",
			u + "TestClientBackpressureSpec/client-backpressure/tests/x.json/one passed",
			"internal/integration/unified  failed goroutines leak",
		}
	})
	results, err := f.Run(t.Context(), []string{"spec"})
	require.NoError(t, err)
	require.Len(t, results, 2)
	r := results[0]
	assert.Equal(t, "4 passed, 1 failed, 0 skipped", counts(r))
	assert.Equal(t, "goroutines leak", r.Failures[0].Output, "the other server does not make it good")
	assert.Equal(t, "3 on mongod 1.2; 1 on SecantusDB 1.2", r.Note)
	assert.Equal(t, "1 passed, 0 failed, 0 skipped", counts(results[1]))
	var ran []string
	for _, c := range f.runs {
		ran = append(ran, c.run)
		assert.Contains(t, c.flags, fresh)
		assert.Contains(t, c.flags, "-p=1", "the packages share the server")
		assert.Equal(t, c.run != long, slices.Contains(c.flags, "-skip="+long), "each test runs in one half")
		assert.Contains(t, c.env, "PROJECT_DIRECTORY="+f.file("project"))
	}
	assert.ElementsMatch(t, []string{long, "^(TestOurs|TestUnifiedSpec)$", `^TestUnifiedSpec$/^crud$/^new\.json$/^b$`}, ran)
}

// TestIncomplete is about what is not available: the report ends with that, and in CI it is a failure.
func TestIncomplete(t *testing.T) {
	t.Parallel()
	some, none := specs.Project{Dir: "d", Lacks: "1 of 2 files"}, pypi.Absent("no network")
	for _, tt := range []struct {
		project   specs.Project
		err       error
		suite     string
		ci        bool
		want      string
		judged    string
		serverErr error
	}{
		{some, nil, "upstream", true, "INCOMPLETE: upstream, upstream: 1 of 2 files\n", "1 passed, 0 failed, 0 skipped", nil},
		{some, nil, "spec", true, "INCOMPLETE: spec, spec: 1 of 2 files\n", "1 passed, 1 failed, 0 skipped", nil},
		{specs.Project{}, none, "upstream", false, "INCOMPLETE: upstream, upstream: without the specifications' tests: no network\n",
			"1 passed, 0 failed, 0 skipped", nil},
		{specs.Project{}, none, "upstream", true, "", "0 passed, 1 failed, 0 skipped", nil},
		{specs.Project{}, nil, "spec", false, "INCOMPLETE: spec, spec: not run: no network\n", "0 passed, 0 failed, 1 skipped", none},
		{specs.Project{}, nil, "spec", true, "", "0 passed, 1 failed, 0 skipped", none},
	} {
		f := newFixture(t, func(command) []string { return []string{"p TestA passed"} })
		f.Project = func(context.Context, string) (specs.Project, error) { return tt.project, tt.err }
		if f.CI = tt.ci; tt.serverErr != nil {
			f.Open = func(context.Context, server.Config) (*server.Deployment, error) { return nil, tt.serverErr }
		}
		r := f.one(t, tt.suite)
		assert.Equal(t, tt.judged, counts(r))
		text := Incomplete([]Result{r, {Name: "other"}, r})
		assert.Equal(t, tt.want, strings.TrimPrefix(text, "\n"))
		for _, run := range f.runs {
			assert.Equal(t, tt.want != "", slices.Contains(run.env, "SPECIFICATIONS_INCOMPLETE=1"))
		}
		var out strings.Builder
		_ = Write(&out, []Result{r, r})
		assert.Regexp(t, regexp.QuoteMeta(text)+`\n\d+ passed, \d+ failed, \d+ skipped\n$`, out.String())
	}
}

func TestWhatCannotRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(command) []string { return nil })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	results, err := f.Run(ctx, []string{"upstream"})
	require.NoError(t, err)
	assert.Contains(t, results[0].Failures[0].What, "interrupted")
	for text, problem := range map[string]string{
		"- {reason: r, tests: [p TestA]}": "entry 1 needs reason, successor and tests", "- {reason: r, test: T}": "field test not found",
		"- {reason: r, successor: p T, tests: [p TestA, p TestA]}": "entry 1: \"p TestA\" names no test, or is listed twice",
	} {
		f.write(t, "etc/bases/v1.0.0/skips", text)
		_, err := f.Run(t.Context(), nil)
		assert.ErrorContains(t, err, problem)
	}
	none := &Rig{Root: t.TempDir(), Base: "v1.0.0"}
	_, err = none.Run(t.Context(), nil)
	assert.ErrorContains(t, err, none.file("build/v1.0.0")+": ")
	assert.ErrorContains(t, err, "make trees")
}

func TestWrite(t *testing.T) {
	t.Parallel()
	r := Result{Name: "upstream", Passed: 7819}
	r.skip("too old")
	r.skip("no server")
	r.skip("no server")
	r.note("3 on %s", "mongod")
	for range 21 {
		r.fail("p TestA", "failed", strings.Repeat("early\n", 40)+"mongodb://u:secret@h")
	}
	var out strings.Builder
	require.ErrorIs(t, Write(&out, []Result{{Name: "fork", Passed: 1}, r}), ErrFailed)
	text := out.String()
	assert.Regexp(t, `upstream +7819 +21 +3 +0s +3 on mongod`, text)
	assert.Contains(t, text, "upstream skipped 3:\n     2  no server\n     1  too old\n")
	assert.Contains(t, text, "FAIL upstream: p TestA: failed\n    [11 lines left out]\n    early\n")
	assert.Contains(t, text, "    mongodb://xxxxx@h\n")
	assert.True(t, strings.HasSuffix(text, "\n7820 passed, 21 failed, 3 skipped\n"))
	assert.Equal(t, 21*29, strings.Count(text, "early"))
	r.fail("a", "failed", strings.Repeat("log\n", 20)+"panic: the reason\n"+strings.Repeat("frame\n", 40))
	assert.Equal(t, "panic: the reason"+strings.Repeat("\n    frame", excerptLines-1), r.Failures[21].Output, "why, and what led there")
}

func TestRedact(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"mongodb://h:27017/?replicaSet=rs0, a@b":                             "mongodb://h:27017/?replicaSet=rs0, a@b",
		"MongoDB+SRV://root:secret@h/":                                       "MongoDB+SRV://xxxxx@h/",
		"mongodb://u:se@cr/et@h/ then more":                                  "mongodb://xxxxx@h/ then more",
		"a=mongodb://u:secret@h\nb=mongodb+srv://v:secret@i":                 "a=mongodb://xxxxx@h\nb=mongodb+srv://xxxxx@i",
		"mongodb://h/?tlsCertificateKeyFilePassword=secret":                  "mongodb://h/?tlsCertificateKeyFilePassword=xxxxx",
		"mongodb://u:secret@h/?authMechanismProperties=SESSION_TOKEN:secret": "mongodb://xxxxx@h/?authMechanismProperties=xxxxx",
		"mongodb://h/?proxyPassword=secret 'x'":                              "mongodb://h/?proxyPassword=xxxxx 'x'",
	}
	for text, want := range tests {
		assert.Equal(t, want, Redact(text))
	}
}

// TestGoTest runs tests that end in every way.
func TestGoTest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, forktest.Archive(t, "ends.txtar").Write(dir))
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

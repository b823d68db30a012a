package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/gotest"
)

// same answers every run in both trees alike.
func same(lines ...string) func(string, gotest.Command) []string {
	return func(string, gotest.Command) []string { return lines }
}

// differing answers by tree.
func differing(upstream, fork []string) func(string, gotest.Command) []string {
	return func(tree string, _ gotest.Command) []string {
		if tree == "fork" {
			return fork
		}
		return upstream
	}
}

func TestUpstreamWithoutDifference(t *testing.T) {
	f := newFixture(t, same("p TestA passed", "p TestB failed", "p TestC skipped too old"))
	s := f.one(t, "upstream", Options{})
	assert.Equal(t, "1 passed, 0 failed, 2 skipped", counts(s))
	assert.Equal(t, "1 fail upstream too", s.Note)
	require.Len(t, f.tests.runs, 2)
	for _, run := range f.tests.runs {
		assert.Contains(t, run.Env, "GOWORK=off")
		assert.NotContains(t, run.Env, "GOWORK=on")
		assert.NotContains(t, run.Env, "MONGODB_URI=mongodb://user")
	}
	assert.Equal(t, f.tests.runs[0].Env, f.tests.runs[1].Env, "both trees get the same environment")
}

func TestUpstreamRegression(t *testing.T) {
	f := newFixture(t, differing(
		[]string{"p TestA/x passed", "p TestB passed"},
		[]string{"p TestA/x failed expected it's 1", "p TestB passed"}))
	s := f.one(t, "upstream", Options{})
	assert.Equal(t, "1 passed, 1 failed, 0 skipped", counts(s))
	require.Len(t, s.Failures, 1)
	failure := s.Failures[0]
	assert.Equal(t, Module+"/p TestA/x", failure.Name)
	assert.Equal(t, "passed upstream, failed in the fork", failure.What)
	assert.Contains(t, strings.Join(failure.Output, "\n"), "expected it's 1")
	assert.Equal(t, `PROJECT_DIRECTORY="$PWD/build/specifications/v1.0.0-pin" `+
		`go test -C build/v1.0.0 -count=1 -trimpath -vet=off -short -run '^TestA$/^x$' ./p`, failure.Rerun)
	assert.Len(t, f.tests.runs, 2+2*repetitions, "each regression is repeated in both trees")
	last := f.tests.runs[len(f.tests.runs)-1]
	assert.Equal(t, "^TestA$/^x$", last.Run)
	assert.Equal(t, []string{"./p"}, last.Packages)
}

func TestUpstreamFlakyTest(t *testing.T) {
	forkRuns := 0
	f := newFixture(t, func(tree string, _ gotest.Command) []string {
		if tree == "fork" {
			forkRuns++
			if forkRuns == 1 {
				return []string{"p TestA failed", "p TestB passed"}
			}
		}
		return []string{"p TestA passed", "p TestB passed"}
	})
	s := f.one(t, "upstream", Options{})
	assert.Equal(t, "2 passed, 0 failed, 0 skipped", counts(s))
	assert.Equal(t, "1 decided by repetition", s.Note)
	assert.Contains(t, s.Remarks[0], "TestA (repetition 1 passes)")
}

func TestUpstreamLeavesOurTestsToFork(t *testing.T) {
	f := newFixture(t, differing([]string{"p TestA passed"}, []string{"p TestA passed", "p TestOurs failed"}))
	assert.Equal(t, "1 passed, 0 failed, 0 skipped", counts(f.one(t, "upstream", Options{})))
}

func TestUpstreamWithNothingToCompare(t *testing.T) {
	f := newFixture(t, same("p TestA failed"))
	s := f.one(t, "upstream", Options{})
	assert.Equal(t, "0 passed, 1 failed, 0 skipped", counts(s))
	assert.Contains(t, s.Failures[0].What, "nothing to compare")
}

func TestSkipList(t *testing.T) {
	const entry = "suite upstream\npackage p\ntest TestA\nreason it changed\nsuccessor p TestOurs\n"
	regressed := differing([]string{"p TestA passed", "p TestB passed"}, []string{"p TestA failed", "p TestB passed"})
	tests := []struct {
		name, list string
		answer     func(string, gotest.Command) []string
		counts     string
		problem    string
	}{
		{"expected", entry, regressed, "1 passed, 0 failed, 1 skipped", ""},
		{"passes again", entry, same("p TestA passed", "p TestB passed"), "2 passed, 1 failed, 0 skipped", "passes in the fork"},
		{"unknown test", strings.Replace(entry, "TestA", "TestX", 1), same("p TestB passed"), "1 passed, 1 failed, 0 skipped", "is no test that was run"},
		{"unknown successor", strings.Replace(entry, "TestOurs", "TestNone", 1), regressed, "0 passed, 1 failed, 0 skipped", `the overlay has no test "p TestNone"`},
		{"bad list", "test TestA\n", regressed, "0 passed, 1 failed, 0 skipped", "the entry has no suite"},
		{"entry of another suite", strings.Replace(entry, "upstream", "spec", 1), same("p TestB passed"), "1 passed, 0 failed, 0 skipped", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t, tt.answer)
			f.write(t, "etc/bases/v1.0.0/skips", tt.list)
			s := f.one(t, "upstream", Options{})
			assert.Equal(t, tt.counts, counts(s))
			if tt.problem != "" {
				assert.Contains(t, s.Failures[0].What, tt.problem)
			}
		})
	}
}

func TestUnrun(t *testing.T) {
	t.Parallel()
	own := ownTests{"p": {"ExampleD", "TestA", "TestB", "TestC"}}
	leaves := gotest.NewResult(
		gotest.Case{Key: gotest.Key{Package: Module + "/p", Test: "TestA/one"}, Outcome: gotest.Passed},
		gotest.Case{Key: gotest.Key{Package: Module + "/p", Test: "TestB"}, Outcome: gotest.Skipped},
		gotest.Case{Key: gotest.Key{Package: Module + "/q", Test: "TestC"}, Outcome: gotest.Passed},
	)
	assert.Equal(t, []string{"TestC"}, own.unrun("p", leaves))
}

func TestFork(t *testing.T) {
	t.Run("runs our tests", func(t *testing.T) {
		f := newFixture(t, same("p TestOurs passed"))
		assert.Equal(t, "1 passed, 0 failed, 0 skipped", counts(f.one(t, "fork", Options{})))
		require.Len(t, f.tests.runs, 1, "integration tests are left to spec")
		assert.Equal(t, "^(TestOurs)$", f.tests.runs[0].Run)
		assert.Equal(t, []string{"./p"}, f.tests.runs[0].Packages)
	})
	t.Run("a test that does not run has failed", func(t *testing.T) {
		f := newFixture(t, same())
		s := f.one(t, "fork", Options{})
		assert.Equal(t, "0 passed, 1 failed, 0 skipped", counts(s))
		assert.Equal(t, "did not run", s.Failures[0].What)
	})
	t.Run("a package that does not compile is one failure", func(t *testing.T) {
		f := newFixture(t, same("p  failed"))
		assert.Equal(t, "0 passed, 1 failed, 0 skipped", counts(f.one(t, "fork", Options{})))
	})
}

func TestBuildErrorIsReportedOnce(t *testing.T) {
	f := newFixture(t, same("p TestA passed"))
	f.builder.fail = map[string]error{"build v1.0.0": errors.New("x.go:1: no such declaration\n  fix: something")}
	results := f.Run(t.Context(), []string{"fork", "upstream"}, Options{})
	assert.Equal(t, "0 passed, 2 failed, 0 skipped", counts(results...))
	assert.Contains(t, results[0].Failures[0].What, "no such declaration")
	assert.Equal(t, []string{"  fix: something"}, results[0].Failures[0].Output)
	assert.Equal(t, errNotBuilt.Error(), results[1].Failures[0].What)
}

func TestUnknownSuite(t *testing.T) {
	s := newFixture(t, same()).one(t, "units", Options{})
	assert.Equal(t, "0 passed, 1 failed, 0 skipped", counts(s))
	assert.Contains(t, s.Failures[0].What, strings.Join(Names(), ", "))
}

func TestInterruptedRunFails(t *testing.T) {
	f := newFixture(t, same("p TestA passed"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	results := f.Run(ctx, []string{"unit", "upstream"}, Options{})
	assert.Equal(t, "0 passed, 2 failed, 0 skipped", counts(results...))
	assert.Empty(t, f.tests.runs)
}

func TestUnit(t *testing.T) {
	f := newFixture(t, same("p TestA passed"))
	f.tools.says = map[string]string{"go list": "mongofork/cmd/rig\nmongofork/internal/retry\n", "go env": "0\ngcc\n"}
	s := f.one(t, "unit", Options{})
	assert.Equal(t, "2 passed, 0 failed, 0 skipped", counts(s))
	require.Len(t, f.tests.runs, 2)
	assert.Equal(t, []string{"mongofork/internal/retry"}, f.tests.runs[1].Packages)
	assert.Contains(t, s.Note, "without the race detector")
}

func TestRace(t *testing.T) {
	f := newFixture(t, same())
	for _, tt := range []struct {
		env  string
		want []string
	}{{"1\ngo\n", []string{"-race"}}, {"1\nno-such-compiler\n", nil}, {"0\ngo\n", nil}, {"", nil}} {
		f.tools.says = map[string]string{"go env": tt.env}
		flags, note := f.race(t.Context())
		assert.Equal(t, tt.want, flags)
		assert.Equal(t, tt.want == nil, note != "")
	}
}

func TestQuickRunHasNoRaceDetector(t *testing.T) {
	for quick, raced := range map[bool]bool{false: true, true: false} {
		f := newFixture(t, same("p TestOurs passed"))
		f.tools.says = map[string]string{"go env": "1\ngo\n"}
		f.one(t, "fork", Options{Quick: quick})
		require.NotEmpty(t, f.tests.runs)
		assert.Equal(t, raced, slices.Contains(f.tests.runs[0].Flags, "-race"))
	}
}

func TestDegradedModes(t *testing.T) {
	noServer := func(f *fixture) {
		f.OpenServer = func(context.Context) (*Server, error) {
			return nil, fmt.Errorf("%w: no mongod; install one", ErrUnavailable)
		}
	}
	noTests := func(f *fixture) {
		f.Specifications = func(context.Context, string) (string, error) {
			return "", fmt.Errorf("%w: no tests; set SPECIFICATIONS", ErrUnavailable)
		}
	}
	noRegistry := func(f *fixture) { f.tools.fail = map[string]error{"mod download": errors.New("dial tcp: no route")} }
	tests := []struct {
		name   string
		suite  string
		remove func(*fixture)
		counts string
		says   string
		onCI   string
	}{
		{"no server", "spec", noServer, "0 passed, 0 failed, 4 skipped", "install one", "0 passed, 4 failed, 0 skipped"},
		{"no specification tests", "spec", noTests, "0 passed, 0 failed, 4 skipped", "set SPECIFICATIONS", "0 passed, 4 failed, 0 skipped"},
		{"no registry", "upstream", noRegistry, "0 passed, 0 failed, 1 skipped", "GOPROXY", "0 passed, 1 failed, 0 skipped"},
		{"upstream without specification tests", "upstream", noTests, "1 passed, 0 failed, 0 skipped", "", "1 passed, 1 failed, 0 skipped"},
		{"fork without specification tests", "fork", noTests, "1 passed, 0 failed, 0 skipped", "", "1 passed, 0 failed, 0 skipped"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answer := same("p TestOurs passed")
			if tt.suite == "upstream" {
				answer = same("p TestA passed")
			}
			f := newFixture(t, answer)
			tt.remove(f)
			results := f.Run(t.Context(), []string{tt.suite}, Options{})
			assert.Equal(t, tt.counts, counts(results...))
			for _, s := range results {
				for _, skip := range s.Skips {
					assert.Contains(t, skip.Reason, tt.says)
					assert.NotContains(t, skip.Reason, "\n")
				}
			}

			f = newFixture(t, answer)
			f.CI = true
			tt.remove(f)
			assert.Equal(t, tt.onCI, counts(f.Run(t.Context(), []string{tt.suite}, Options{})...))
		})
	}
}

func TestWhatIsMissingIsLookedForOnce(t *testing.T) {
	f := newFixture(t, same("p TestA passed"))
	var said strings.Builder
	f.Progress = NewProgress(&said, f.Now)
	attempts := 0
	f.OpenServer = func(context.Context) (*Server, error) {
		attempts++
		return nil, fmt.Errorf("%w: install mongod", ErrUnavailable)
	}
	f.Run(t.Context(), []string{"spec"}, Options{})
	assert.Equal(t, 1, attempts)
	assert.Equal(t, 1, strings.Count(said.String(), "install mongod"))
}

func TestCheck(t *testing.T) {
	tests := []struct {
		name   string
		fail   map[string]error
		says   map[string]string
		failed []string
	}{
		{"all well", nil, nil, nil},
		{"format", nil, map[string]string{"gofmt -l": "a.go\n"}, []string{"gofmt"}},
		{"vet", map[string]error{"go vet ./...": errors.New("bad")}, nil, []string{"vet"}},
		{"verify", map[string]error{"verify v1.0.0": errors.New("bad")}, nil, []string{"reproducible build"}},
		{"compile", map[string]error{"go build -trimpath": errors.New("bad")}, nil, []string{"compile the fork"}},
		{"overlay", map[string]error{"build v1.0.0": errors.New("bad")}, nil, []string{"overlay", "reproducible build", "compile the fork", "vet the fork"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t, same())
			f.tools.fail, f.tools.says, f.builder.fail = tt.fail, tt.says, tt.fail
			s := f.one(t, "check", Options{})
			var failed []string
			for _, failure := range s.Failures {
				failed = append(failed, failure.Name)
			}
			assert.Equal(t, tt.failed, failed)
			assert.Equal(t, 6-len(tt.failed), s.Passed)
		})
	}
}

func TestOwnTests(t *testing.T) {
	f := newFixture(t, same())
	f.write(t, "build/v1.0.0/p/ours_plan9_test.go", "package p\n\nfunc TestElsewhere(t *testing.T) {}\n")
	own, err := findOwnTests(f.file("build/v1.0.0"), append(slices.Clone(overlay), "p/ours_plan9_test.go", "p/testdata/a_test.go"))
	require.NoError(t, err)
	assert.Equal(t, ownTests{
		"p":                            {"TestOurs"},
		"internal/integration/unified": {"TestClientBackpressureSpec", "TestProse"},
	}, own)
	names := []string{"Test", "TestA", "Test_a", "Testing", "FuzzA", "ExampleA", "Example_a", "BenchmarkA", "TestMain", "test"}
	runs := slices.DeleteFunc(names, func(name string) bool { return !isTest(name) })
	assert.Equal(t, []string{"Test", "TestA", "Test_a", "FuzzA", "ExampleA", "Example_a"}, runs)
}

package suite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/gotest"
	"mongofork/tools/rig/outcomes"
)

// keep writes a record of what runs in the untouched module and in the fork did.
func (f *fixture) keep(t *testing.T, name string, untouched, fork []string) {
	t.Helper()
	runs := &fakeTests{answer: differing(untouched, fork)}
	m := outcomes.Measurement{Platform: f.Platform, Module: Module}
	for _, tree := range []string{"build/pristine/v1.0.0", "build/v1.0.0"} {
		result, err := runs.Test(t.Context(), gotest.Command{Dir: tree}, func(gotest.Key, gotest.Outcome) {})
		require.NoError(t, err)
		m.Untouched, m.Fork = append(m.Untouched, result)[:1], result
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(f.file(f.recordFile(name))), 0o755))
	f.write(t, f.recordFile(name), outcomes.New(m, nil).String())
}

func TestUpstreamIsJudgedByTheRecord(t *testing.T) {
	untouched := []string{"p TestA passed", "p TestB failed", "p TestC skipped too old"}
	tests := map[string]struct {
		fork    []string
		counts  string
		problem string
		runs    int
	}{
		"as recorded": {untouched, "1 passed, 0 failed, 2 skipped", "", 1},
		"regressed": {
			[]string{"p TestA failed", "p TestB failed", "p TestC skipped too old"}, "0 passed, 1 failed, 2 skipped",
			"passed upstream by the record, failed in the fork; repeated upstream it passes", 1 + repetitions + 1,
		},
		"better": {
			[]string{"p TestA passed", "p TestB passed", "p TestC skipped too old"}, "1 passed, 1 failed, 1 skipped",
			"does not fail, but is recorded to fail upstream", 1,
		},
		"skipped": {
			[]string{"p TestA skipped", "p TestB failed", "p TestC skipped too old"}, "0 passed, 1 failed, 3 skipped",
			"1 cases end differently from upstream", 2,
		},
		"gone": {
			[]string{"p TestA passed", "p TestB failed"}, "1 passed, 1 failed, 1 skipped",
			"1 cases end differently from upstream", 2,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, differing(untouched, tt.fork))
			f.keep(t, upstreamRecord, untouched, untouched)
			s := f.one(t, "upstream", Options{})
			assert.Equal(t, tt.counts, counts(s))
			assert.Len(t, f.tests.runs, tt.runs)
			if tt.problem != "" {
				assert.Contains(t, s.Failures[0].What, tt.problem)
			}
		})
	}
}

func TestARecordThatTheMachineContradicts(t *testing.T) {
	now := []string{"p TestA passed", "p TestB skipped no DNS here"}
	f := newFixture(t, same(now...))
	before := []string{"p TestA passed", "p TestB passed"}
	f.keep(t, upstreamRecord, before, before)
	s := f.one(t, "upstream", Options{})
	require.Len(t, s.Failures, 1)
	assert.Equal(t, "p", s.Failures[0].Name)
	assert.Contains(t, s.Failures[0].What, "the untouched module now does the same as the fork: the record does not fit")
	assert.Equal(t, "make baseline BASE=v1.0.0", s.Failures[0].Rerun)
}

func TestARecordOfAnotherPlatformIsNone(t *testing.T) {
	f := newFixture(t, same("p TestA passed"))
	f.keep(t, upstreamRecord, []string{"p TestA failed"}, []string{"p TestA failed"})
	f.Platform = "darwin/arm64"
	assert.Equal(t, "1 passed, 0 failed, 0 skipped", counts(f.one(t, "upstream", Options{})))
	assert.Len(t, f.tests.runs, 2, "both trees")
}

const unified = "internal/integration/unified TestUnifiedSpec/"

// older is why the mongod skips what asks for a newer server.
const older = `skipped skipping due to environmental constraints: no matching RunOnBlock; comparison errors: ` +
	`[server version "6.0.5" is lower than min required version "8.0"]`

// pinned makes the tests of the fixture run on the pinned servers.
func (f *fixture) pinned() *[]string {
	var opened []string
	f.Pinned = func(context.Context) bool { return true }
	f.OpenPinned = func(_ context.Context, name string) (*Server, error) {
		opened = append(opened, name)
		return &Server{URI: "mongodb://" + name, Name: name + " 1.0", Close: func() error { f.closed++; return nil }}, nil
	}
	return &opened
}

// byServer answers by the server that a run is on.
func byServer(real, newer []string) func(string, gotest.Command) []string {
	return func(_ string, c gotest.Command) []string {
		if strings.Contains(strings.Join(c.Env, " "), "MONGODB_URI=mongodb://secantus") {
			return newer
		}
		return real
	}
}

func TestWhatAsksForANewerServerRunsOnTheOther(t *testing.T) {
	f := newFixture(t, byServer(
		[]string{
			unified + "crud/tests/a.json/one passed", unified + "crud/tests/a.json/two " + older,
			unified + "crud/tests/whole.json " + older, unified + "crud/tests/c.json/three skipped has no such operation",
		},
		[]string{
			unified + "crud/tests/a.json/one failed is not counted here", unified + "crud/tests/a.json/two passed",
			unified + "crud/tests/whole.json/x passed", unified + "crud/tests/whole.json/y failed",
		}))
	opened := f.pinned()
	merged := []string{
		unified + "crud/tests/a.json/one passed", unified + "crud/tests/a.json/two passed", unified + "crud/tests/whole.json/x passed",
		unified + "crud/tests/whole.json/y failed", unified + "crud/tests/c.json/three skipped",
	}
	f.keep(t, "spec-v1.0.0-pin", merged, merged)

	results := f.Run(t.Context(), []string{"spec"}, Options{Revision: "v1.0.0-pin"})

	require.Len(t, results, 1)
	assert.Equal(t, "3 passed, 0 failed, 2 skipped", counts(results...), results[0].Failures)
	assert.Equal(t, []string{"mongod", "secantus"}, *opened)
	assert.Equal(t, 2, f.closed)
	assert.Equal(t, `^TestUnifiedSpec$/^crud$/^tests$/^(a|whole)\.json$`, f.tests.runs[1].Run)
	assert.Contains(t, results[0].Note, "1 on mongod 1.0; 2 on secantus 1.0")
	table := strings.Join(results[0].Remarks, "\n")
	assert.Regexp(t, `\| v1.0.0-pin \| crud  \| +5 \| +1 \| +2 \| +1 \| +1 \|`, table)
}

func TestSpecNeedsARecordOfThePinnedServers(t *testing.T) {
	f := newFixture(t, same(unified+"crud/tests/a.json/one passed"))
	f.pinned()
	s := f.Run(t.Context(), []string{"spec"}, Options{Revision: "v1.0.0-pin"})[0]
	require.Len(t, s.Failures, 1)
	assert.Equal(t, "there is no record etc/bases/v1.0.0/outcomes/spec-v1.0.0-pin for linux/amd64; write it: make baseline BASE=v1.0.0", s.Failures[0].What)
}

func TestPinnedServersThatCannotBeHad(t *testing.T) {
	for ci, want := range map[bool]string{false: "0 passed, 0 failed, 4 skipped", true: "0 passed, 4 failed, 0 skipped"} {
		f := newFixture(t, same("p TestOurs passed"))
		f.CI = ci
		f.pinned()
		f.keep(t, "spec-v1.0.0-pin", []string{"p TestA passed"}, []string{"p TestA passed"})
		f.keep(t, "spec-2026-03-12", []string{"p TestA passed"}, []string{"p TestA passed"})
		f.OpenPinned = func(context.Context, string) (*Server, error) { return nil, fmt.Errorf("%w: no wheel", ErrUnavailable) }
		assert.Equal(t, want, counts(f.Run(t.Context(), []string{"spec"}, Options{})...))
	}
}

func TestBaseline(t *testing.T) {
	answers := func(tree string, c gotest.Command) []string {
		if c.Packages[0] == "./..." {
			return []string{"p TestA passed"}
		}
		if tree == "fork" {
			return []string{unified + "crud/tests/a.json/one passed", unified + "crud/tests/a.json/two passed"}
		}
		return []string{unified + "crud/tests/a.json/one passed", unified + "crud/tests/a.json/two failed"}
	}
	f := newFixture(t, answers)
	f.pinned()
	results := f.Baseline(t.Context(), 2, true)
	assert.Equal(t, "5 passed, 0 failed, 0 skipped", counts(results...))
	for _, name := range []string{"upstream", "spec-v1.0.0-pin", "spec-2026-03-12"} {
		record, err := f.readRecord(name)
		require.NoError(t, err)
		require.NotNil(t, record, name)
		assert.NotEmpty(t, record.Groups)
	}
	assert.Equal(t, "5 passed, 0 failed, 0 skipped", counts(f.Baseline(t.Context(), 1, false)...), "nothing has changed")
	assert.Equal(t, "1 passed, 0 failed, 0 skipped", counts(f.one(t, "upstream", Options{})))

	f.tests.answer = func(tree string, c gotest.Command) []string {
		lines := answers(tree, c)
		if tree == "upstream" && c.Packages[0] != "./..." {
			lines[1] = unified + "crud/tests/a.json/two passed"
		}
		return lines
	}
	changed := f.Baseline(t.Context(), 1, false)
	assert.Equal(t, "5 passed, 4 failed, 0 skipped", counts(changed...))
	assert.Equal(t, "pass in the fork only: internal/integration/unified TestUnifiedSpec/crud/tests/a.json/two is recorded, but was not found",
		changed[1].Failures[1].What)
}

func TestBaselineFailsForWhatTheForkDoesWorse(t *testing.T) {
	f := newFixture(t, differing([]string{"p TestA passed"}, []string{"p TestA failed"}))
	f.pinned()
	results := f.Baseline(t.Context(), 1, true)
	assert.Equal(t, "p TestA", strings.TrimPrefix(results[0].Failures[0].Name, Module+"/"))
}

func TestRerunPattern(t *testing.T) {
	keys := map[gotest.Key]bool{}
	for _, test := range []string{
		"TestUnifiedSpec/crud/tests/unified/a+b.json/case", "TestUnifiedSpec/crud/tests/unified/c.json",
		"TestUnifiedSpec/sessions/tests/d.json/x/y", "TestProse/one", "TestProse/two", "TestOther",
	} {
		keys[gotest.Key{Package: "p", Test: test}] = true
	}
	assert.Equal(t, `^(TestOther|TestProse)$|`+
		`^TestUnifiedSpec$/^crud$/^tests$/^unified$/^(a\+b|c)\.json$|^TestUnifiedSpec$/^sessions$/^tests$/^(d)\.json$`, rerunPattern(keys))
}

func TestIntegration(t *testing.T) {
	f := newFixture(t, differing([]string{"internal/integration TestA passed", "internal/integration TestB failed"},
		[]string{"internal/integration TestA failed", "internal/integration TestB failed"}))
	var forms []string
	f.OpenForm = func(_ context.Context, form string) (*Server, error) {
		forms = append(forms, form)
		return &Server{URI: "mongodb://" + form, Env: []string{"MONGODB_URI=mongodb://" + form, "SSL=" + form}, Close: func() error { f.closed++; return nil }}, nil
	}
	results := f.Integration(t.Context(), Forms())
	assert.Equal(t, "0 passed, 2 failed, 2 skipped", counts(results...))
	assert.Contains(t, results[1].Failures[0].Rerun, "go run ./tools/cmd/rig server --topology replicaset:3 --tls --users -- env PROJECT_DIRECTORY=")
	assert.Contains(t, forms, "plain")
	assert.Contains(t, forms, "secured")
	assert.Equal(t, len(forms), f.closed)
	for _, run := range f.tests.runs {
		assert.Contains(t, strings.Join(run.Env, " "), " SSL=")
	}

	for _, suite := range []string{"integration", "spec"} {
		f.write(t, "etc/bases/v1.0.0/skips", "suite "+suite+"\npackage internal/integration\ntest TestA\nreason r\nsuccessor p TestOurs\n")
		assert.Equal(t, "0 passed, 0 failed, 2 skipped", counts(f.Integration(t.Context(), []string{"plain"})...), suite)
	}
}

func TestAPackageWhoseProcessEndedIsRunOnceMore(t *testing.T) {
	runs := 0
	f := newFixture(t, same())
	f.Tests = endingTests{f.tests}
	f.tests.answer = func(_ string, c gotest.Command) []string {
		runs++
		if runs == 1 {
			return []string{"p TestA passed", "q TestB ended", "q TestC passed"}
		}
		assert.Equal(t, []string{"./q"}, c.Packages)
		return []string{"q TestB passed", "q TestC passed"}
	}
	whole := []string{"p TestA passed", "q TestB passed", "q TestC passed"}
	record := newFixture(t, same(whole...))
	record.Rig.Root = f.Root
	record.keep(t, upstreamRecord, whole, whole)
	assert.Equal(t, "3 passed, 0 failed, 0 skipped", counts(f.one(t, "upstream", Options{})))
	assert.Equal(t, 2, runs)
}

// endingTests are tests whose process may end: then the stream of their events does.
type endingTests struct{ *fakeTests }

func (e endingTests) Test(ctx context.Context, c gotest.Command, onEnd func(gotest.Key, gotest.Outcome)) (*gotest.Result, error) {
	result, err := e.fakeTests.Test(ctx, c, onEnd)
	if err != nil {
		return nil, err
	}
	var stream strings.Builder
	for _, test := range result.Cases() {
		fmt.Fprintf(&stream, `{"Action":"run","Package":%q,"Test":%q}`+"\n", test.Package, test.Test)
		if test.Outcome == gotest.Passed {
			fmt.Fprintf(&stream, `{"Action":"pass","Package":%q,"Test":%q}`+"\n", test.Package, test.Test)
		}
	}
	return gotest.Parse(strings.NewReader(stream.String()), nil)
}

func TestBaselineRepeatsWhatFailed(t *testing.T) {
	f := newFixture(t, func(_ string, c gotest.Command) []string {
		if c.Run != "" {
			return []string{"p TestB passed"}
		}
		return []string{"p TestA passed", "p TestB failed"}
	})
	f.pinned()
	f.Baseline(t.Context(), 1, true)
	record, err := f.readRecord(upstreamRecord)
	require.NoError(t, err)
	assert.Empty(t, record.Failed)
	assert.Equal(t, map[gotest.Key]string{{Package: "p", Test: "TestB"}: "passed in 0 of 1 runs, and when it was repeated"}, record.Varies)
}

func TestBaselineOfARunThatEndedEarly(t *testing.T) {
	f := newFixture(t, same("p TestA passed", "p TestB ended"))
	f.Tests = endingTests{f.tests}
	f.pinned()
	results := f.Baseline(t.Context(), 1, true)
	for _, s := range results {
		require.Len(t, s.Failures, 1, s.Name)
		assert.Contains(t, s.Failures[0].What, "ended in "+Module+"/p TestB; nothing was recorded")
	}
	record, err := f.readRecord(upstreamRecord)
	require.NoError(t, err)
	assert.Nil(t, record)
}

package suite

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/gotest"
)

const (
	folderOfFile = "internal/integration/unified"
	specFile     = folderOfFile + " TestClientBackpressureSpec/client-backpressure/tests/a.json"
)

// specAnswers answers each of the suites that spec has.
func specAnswers(backpressure ...string) func(string, gotest.Command) []string {
	return func(_ string, c gotest.Command) []string {
		switch {
		case strings.Contains(c.Run, "TestProse"):
			return []string{folderOfFile + " TestProse passed"}
		case strings.Contains(c.Run, "TestClientBackpressureSpec"):
			return backpressure
		default:
			return []string{folderOfFile + " TestUnifiedSpec/crud/tests/unified/x.json/case passed"}
		}
	}
}

func TestSpec(t *testing.T) {
	f := newFixture(t, specAnswers(specFile+"/one passed", specFile+"/two skipped needs two mongos"))
	results := f.Run(t.Context(), []string{"spec"}, Options{})
	require.Len(t, results, 4)
	assert.Equal(t, "1 passed, 0 failed, 0 skipped", counts(results[0]))
	assert.Equal(t, "1 passed, 0 failed, 1 skipped", counts(results[1]))
	assert.Equal(t, "needs two mongos", results[1].Skips[0].Reason)
	assert.Equal(t, []string{
		"cannot run here (1):\n  TestClientBackpressureSpec/client-backpressure/tests/a.json/two: needs two mongos",
	}, results[1].Remarks)
	assert.Equal(t, "1 passed, 0 failed, 0 skipped", counts(results[2]))
	assert.Equal(t, "1 passed, 0 failed, 0 skipped", counts(results[3]))
	assert.Equal(t, 6, f.servers, "each run has a server of its own")
	assert.Equal(t, f.servers, f.closed)
	for _, run := range f.tests.runs {
		assert.Contains(t, run.Env, "MONGODB_URI=mongodb://started")
	}
	assert.Contains(t, f.tests.runs[0].Flags, "-skip=^(TestClientBackpressureSpec|TestProse)$")
}

// TestSpecOfOneRevision is about a base whose tests are written for the revision
// that the fork follows: nothing runs twice.
func TestSpecOfOneRevision(t *testing.T) {
	f := newFixture(t, specAnswers(specFile+"/one passed", specFile+"/two passed"))
	f.Upstream = f.Fork
	var names []string
	for _, result := range f.Run(t.Context(), []string{"spec"}, Options{}) {
		names = append(names, result.Name)
	}
	assert.Equal(t, []string{"spec 2026-03-12", "spec 2026-03-12 overload", "integration"}, names)
}

// TestSpecWithURIOptions: what is about overload runs in the fork alone, and its clients have the options.
func TestSpecWithURIOptions(t *testing.T) {
	f := newFixture(t, specAnswers(specFile+"/one passed", specFile+"/two passed"))
	f.UseURIOptions("adaptiveThrottling=true")
	var names []string
	for _, result := range f.Run(t.Context(), []string{"spec"}, Options{Throttled: true}) {
		names = append(names, result.Name)
		assert.Empty(t, result.Failures, result.Name)
	}
	assert.Equal(t, []string{"spec 2026-03-12", "integration"}, names)
	require.NotEmpty(t, f.tests.runs)
	for _, run := range f.tests.runs {
		assert.Contains(t, run.Env, "MONGODB_URI=mongodb://started/?adaptiveThrottling=true")
	}
	assert.Equal(t, f.servers, f.closed)
}

func TestSpecFailure(t *testing.T) {
	f := newFixture(t, specAnswers(specFile+"/one failed broken", specFile+"/two passed"))
	s := f.Run(t.Context(), []string{"spec"}, Options{Revision: "2026-03-12"})[0]
	assert.Equal(t, "1 passed, 1 failed, 0 skipped", counts(s))
	assert.True(t, strings.HasPrefix(s.Failures[0].Rerun, "go run ./tools/cmd/rig server -- env PROJECT_DIRECTORY="), s.Failures[0].Rerun)
}

func TestSpecMustBeComplete(t *testing.T) {
	tests := []struct {
		name    string
		answers []string
		file    string
		problem string
	}{
		{"whole", []string{specFile + "/one passed", specFile + "/two passed"}, "", ""},
		{"skipped file", []string{specFile + " skipped not for this server"}, "", ""},
		{"missing case", []string{specFile + "/one passed"}, "", "a.json has 2 cases, but 1 ran"},
		{"missing test", nil, "", "a.json has 2 cases, but 0 ran"},
		{"another file that does not exist", []string{
			specFile + "/one passed", specFile + "/two passed",
			folderOfFile + " TestClientBackpressureSpec/crud/tests/b.json/one passed",
		}, "", "b.json: no such file"},
		{"one file", []string{specFile + "/one passed", specFile + "/two passed"}, "a", ""},
		{"unknown file", nil, "b", "there is no test file b.json"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t, specAnswers(tt.answers...))
			s := f.Run(t.Context(), []string{"spec"}, Options{Revision: "2026-03-12", File: tt.file})[0]
			if tt.problem == "" {
				assert.Empty(t, s.Failures)
				return
			}
			require.Len(t, s.Failures, 1)
			assert.Contains(t, s.Failures[0].What, tt.problem)
		})
	}
}

func TestSpecOfOneFileUsesItsSkipsOnly(t *testing.T) {
	f := newFixture(t, specAnswers())
	f.write(t, "etc/bases/v1.0.0/skips", "suite spec\npackage "+folderOfFile+
		"\ntest TestUnifiedSpec/crud/tests/unified/y.json/case\nreason r\nsuccessor p TestOurs\n")
	s := f.one(t, "spec", Options{Revision: "v1.0.0-pin", File: "x"})
	assert.Equal(t, "1 passed, 0 failed, 0 skipped", counts(s))
	s = f.one(t, "spec", Options{Revision: "v1.0.0-pin", File: "y"})
	assert.Equal(t, "1 passed, 1 failed, 0 skipped", counts(s))
}

func TestSpecOfAnUnknownRevision(t *testing.T) {
	s := newFixture(t, specAnswers()).one(t, "spec", Options{Revision: "2001-01-01"})
	assert.Contains(t, s.Failures[0].What, "there are v1.0.0-pin and 2026-03-12")
}

func TestFilePattern(t *testing.T) {
	// go test splits a pattern at bars and then at slashes.
	for pattern, parts := range map[string]int{
		strings.Split(filePattern("TestA", "get.more"), "|")[0]: 4,
		strings.Split(filePattern("TestA", "get.more"), "|")[1]: 5,
	} {
		elements := strings.Split(pattern, "/")
		require.Len(t, elements, parts)
		last := regexp.MustCompile(elements[parts-1])
		assert.True(t, last.MatchString("get.more.json"))
		assert.False(t, last.MatchString("getXmore.json"))
		assert.False(t, last.MatchString("forget.more.json"))
	}
}

func TestTidyReason(t *testing.T) {
	const frame = "skipping due to environmental constraints: no matching RunOnBlock; comparison errors: "
	older := tidyReason(frame + `[server version "8.2.11" is higher than max version "4.2.99"]`)
	newer := tidyReason(frame + `[server version "8.2.11" is higher than max version "8.1.99"]`)
	assert.Equal(t, older, newer)
	assert.Equal(t, `requirement not met: server version "8.2.11" is higher than max version of the test`, newer)
	assert.Equal(t, "no server", tidyReason("no server"))
}

func TestParseVet(t *testing.T) {
	output := `# example.com/m/p
{
	"example.com/m/p": {
		"copylocks": [
			{"posn": "/x/p/a.go:1:2", "message": "copies a lock"},
			{"posn": "/x/p/a.go:9:2", "message": "copies a lock"}
		]
	}
}
# example.com/m/q
{"example.com/m/q": {"printf": [{"posn": "/x/q/b.go:3:1", "message": "wrong verb"}]}}
`
	found, err := parseVet(output)
	require.NoError(t, err)
	assert.Equal(t, map[finding]int{
		{"example.com/m/p", "copylocks", "a.go", "copies a lock"}: 2,
		{"example.com/m/q", "printf", "b.go", "wrong verb"}:       1,
	}, found)
	_, err = parseVet("{half")
	assert.ErrorContains(t, err, "go vet")
}

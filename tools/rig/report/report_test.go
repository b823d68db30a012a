package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// suites is a report with something of everything.
func suites() []Suite {
	upstream := Suite{
		Name: "upstream", Passed: 7819, Elapsed: 90*time.Second + 123*time.Millisecond,
		Note:    "2 fail upstream too; 1 decided by repetition",
		Remarks: []string{"decided by repetition (1):\n  p TestB (repetition 1 passes)"},
		Failures: []Failure{{
			Name: "example.com/m/p TestA/sub", What: "passed upstream, failed in the fork",
			Output: []string{"    a_test.go:7: broken"},
			Rerun:  "go test -C build/v2.5.0 -count=1 -run '^TestA$/^sub$' ./p",
		}},
	}
	upstream.AddSkips("too old", "fails upstream too", "fails upstream too", "no reason given")
	spec := Suite{Name: "spec 2026-03-12"}
	spec.AddSkips("not run: no server")
	return []Suite{
		{Name: "check", Passed: 6, Elapsed: 12 * time.Second},
		upstream,
		spec,
	}
}

func TestWrite(t *testing.T) {
	golden := filepath.Join("testdata", "report.golden")
	var got strings.Builder
	require.NoError(t, Write(&got, suites()))
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Empty(t, cmp.Diff(string(want), got.String()))
}

func TestWriteEndsWithTheTotals(t *testing.T) {
	for _, list := range [][]Suite{nil, suites()} {
		var got strings.Builder
		require.NoError(t, Write(&got, list))
		lines := strings.Split(strings.TrimSuffix(got.String(), "\n"), "\n")
		assert.Equal(t, Sum(list).String(), lines[len(lines)-1])
	}
}

func TestSum(t *testing.T) {
	assert.Equal(t, "7825 passed, 1 failed, 5 skipped", Sum(suites()).String())
	assert.Equal(t, "0 passed, 0 failed, 0 skipped", Sum(nil).String())
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteReportsErrors(t *testing.T) {
	assert.EqualError(t, Write(brokenWriter{}, nil), "disk full")
}

func TestWriteShortensManyFailures(t *testing.T) {
	s := Suite{Name: "upstream", Failures: make([]Failure, failuresShown+5)}
	for i := range s.Failures {
		s.Failures[i] = Failure{Name: fmt.Sprintf("Test%d", i), Output: []string{"broken\x00\x1b"}, Rerun: "go test"}
	}
	var got strings.Builder
	require.NoError(t, Write(&got, []Suite{s}))
	assert.Equal(t, failuresShown, strings.Count(got.String(), "    broken..\n"))
	assert.Equal(t, failuresShown+5, strings.Count(got.String(), "rerun: go test"))
	assert.Contains(t, got.String(), "Further failures of upstream")
}

package report

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/bench/internal/goodput"
	"mongofork/bench/internal/openloop"
	"mongofork/bench/internal/result"
)

func languageResults() *goodput.Results {
	with := 1
	return &goodput.Results{
		Capacity: goodput.Capacity, Queue: goodput.Queue, Patience: time.Second, Storm: goodput.Storm{Clients: 500},
		Runs: fakeRuns(goodput.LanguageScenarios()),
		Storms: []goodput.StormRun{{Arm: goodput.PyMongo, Report: &openloop.StormReport{
			Connected: 500, Cleared: 2, ClearedWithConnections: &with, Heartbeats: 3,
		}}},
	}
}

func TestWriteLanguages(t *testing.T) {
	docs := t.TempDir()
	file := result.File[*goodput.Results]{Command: "make bench-languages", Setting: &result.Setting{}, Results: languageResults()}
	require.NoError(t, file.Write(filepath.Join(docs, "performance", LanguagesFile)))
	require.NoError(t, Write(docs))
	content, err := os.ReadFile(filepath.Join(docs, "performance.md"))
	require.NoError(t, err)
	_, text, found := strings.Cut(string(content), "## Drivers of other languages\n")
	require.True(t, found)
	checkPictures(t, docs, text)
	for _, part := range []string{
		"\nPyMongo 4.20.0 and Node driver 7.9.0, in the scenarios",
		"goodput, as a share of its capacity, was 100 % with `upstream v2.5.0`, 80 % with `fork, adaptiveRetries, tokens spent`, 80 % with `PyMongo",
		"those of ten clients equal 61 to 303 seconds of the capacity",
		"in this order, they sent 1.00, 1.12, 1.12 and 1.12 commands per operation.",
		"| 10 % | 2 | 50 | 1 | PyMongo 4.20.0 | 80.0 |",
		"| 2 % | 10 | 10 | 1 | Node driver 7.9.0 |",
		"| 50 | PyMongo 4.20.0 | 3 | 60.0 (60.0 to 60.0) | 1.20 (1.20 to 1.20) |",
		"| 3 | 33 | PyMongo 4.20.0 |", "| 100 | 50 | PyMongo 4.20.0 |", "| 2.06 | 55 | PyMongo 4.20.0 |",
		"| PyMongo 4.20.0 | 500 of 500 |",
		"performance/languages-spike.svg", "performance/languages-goodput-10.svg",
	} {
		assert.Contains(t, text, part)
	}
	assert.NotContains(t, text, "Not measured:")
	assert.NotContains(t, text, "languages-goodput-2.svg", "one load is no plot")
}

func TestMissingLanguages(t *testing.T) {
	r := languageResults()
	r.Runs = slices.DeleteFunc(r.Runs, func(run goodput.Run) bool { return run.Arm == goodput.NodeDriver })
	assert.Equal(t, goodput.NodeDriver, languagesOf(r).Missing())
	assert.Equal(t, goodput.PyMongo, languagesOf(r).Names())
	r.Runs = nil
	assert.Empty(t, languagesOf(r).Comparison())
	assert.Equal(t, "an unknown time", languagesOf(r).TokenTimes())
}

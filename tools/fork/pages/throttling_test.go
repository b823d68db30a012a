package pages

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestExampleOfThrottling computes the table of throttling.md by the formula of the rule, with the numbers of the code. That the code does
// what the formula says is TestPage's to show.
func TestExampleOfThrottling(t *testing.T) {
	t.Parallel()
	slack, exponent := number(t, "slack"), number(t, "exponent")
	_, example, found := strings.Cut(text(t, "docs/throttling.md"), "## An example\n")
	require.True(t, found)
	share := regexp.MustCompile(`\| q = ([\d.]+)`).FindAllStringSubmatch(example, -1)
	rows := regexp.MustCompile(`(?m)^\| \w+ \| (\d+) \| (\d+) \| (.*) \|$`).FindAllStringSubmatch(example, -1)
	require.Len(t, rows, 3)
	n := 0.0
	for _, row := range rows {
		own, err := strconv.ParseFloat(row[1], 64)
		require.NoError(t, err)
		n += own
	}
	assert.Contains(t, example, fmt.Sprintf("n = %g ", n))
	lower := 0.0
	for _, row := range rows {
		own, err := strconv.ParseFloat(row[1], 64)
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprint(lower), row[2], "lower")
		var want []string
		for _, q := range share {
			accepted, err := strconv.ParseFloat(q[1], 64)
			require.NoError(t, err)
			p := (n - n*math.Pow(math.Min(1, slack*accepted), exponent*(1-lower/n)) - lower) / own
			want = append(want, strconv.FormatFloat(math.Round(100*math.Max(0, math.Min(1, p)))/100, 'g', -1, 64))
		}
		assert.Equal(t, strings.Join(want, " | "), row[3], "own %g", own)
		lower += own
	}
}

// number returns a number of the throttle's rule.
func number(t *testing.T, name string) float64 {
	t.Helper()
	found := regexp.MustCompile(`(?m)^\t` + name + ` = ([\d.]+)$`).
		FindStringSubmatch(text(t, "layers/extras/throttling/internal/throttle/rule.go"))
	require.NotNil(t, found, name)
	value, err := strconv.ParseFloat(found[1], 64)
	require.NoError(t, err)
	return value
}

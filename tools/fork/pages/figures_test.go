package pages

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPagesFollowTheConstants finds what the pages, and other files, say of the retries, computed from the constants of the code.
func TestPagesFollowTheConstants(t *testing.T) {
	t.Parallel()
	base := constant(t, "internal/retry/policy.go", `BaseBackoff = (\d+) \* time.Millisecond`)
	longest := constant(t, "internal/retry/policy.go", `MaxBackoff = (\d+) \* time.Second`)
	tokens := constant(t, "internal/retry/bucket.go", `TokenCapacity\s+= (\d+)`)
	retries := constant(t, "x/mongo/driver/topology/overload_revision_2026_03.go", `defaultMaxAdaptiveRetries uint = (\d+)`)
	newest := constant(t, "x/mongo/driver/topology/overload_revision_2026_08.go", `defaultMaxAdaptiveRetries uint = (\d+)`)
	const loops, commands = 3, 5 // of the examples in migrating.md
	all := waits(base, retries)
	exhausted := fmt.Sprintf("(no further retry after %d attempts and %.2fs of backoff: limit)", 1+retries, all/2)
	buckets := boundaries(base, longest)
	for page, sentences := range map[string][]string{
		"README.md": {fmt.Sprintf("March 2026: %d retries", retries), fmt.Sprintf("August 2026: %d retries", newest)},
		"docs/overload.md": {
			fmt.Sprintf("`maxAdaptiveRetries` | %d; newest base %d |", retries, newest),
			fmt.Sprintf("%d ms × 2^(n-1), at most %d s", base, longest),
			fmt.Sprintf("may replace the %d ms", base),
			fmt.Sprintf("it starts full, with %d tokens", tokens),
		},
		"docs/migrating.md": {
			fmt.Sprintf("The driver retries up to %d times and waits up to %.1f s in all", retries, all),
			fmt.Sprintf("retries %s, and waits up to %.1f s", map[int]string{2: "twice"}[newest], waits(2*base, newest)),
			fmt.Sprintf("sends up to %d commands and waits up to %.1f s", loops*(1+retries), loops*all),
			fmt.Sprintf("four commands and the commit, up to %.1f s", commands*all),
		},
		"docs/differences/bases.md": {fmt.Sprintf("| longest first backoff | %d ms | %d ms,", base, 2*base)},
		"docs/runbook.md": {
			fmt.Sprintf("spent half of its tokens: %d retries more", tokens/2),
		},
		"docs/overload/exhausted.svg":                    {fmt.Sprintf("error after %.2f s: … %s", all/2, exhausted)},
		"docs/troubleshooting.md":                        {exhausted},
		"internal/retry/policy.go":                       {map[int]string{5: "With five retries none is as long"}[retries]},
		"layers/extras/events/mongo/retry_error_test.go": {exhausted},
		"layers/extras/events/mongo/retry_examples_test.go": {
			exhausted, fmt.Sprintf("attempts=%d backoff=%.2fs", 1+retries, all/2),
		},
		"internal/scripted/script.go":     {fmt.Sprintf("MaxRetries: %d, FirstBackoff: retry.BaseBackoff", retries)},
		"contrib/prometheus/collector.go": {buckets},
		"contrib/otel/retry.go":           {buckets},
		"contrib/prometheus/alerts.yaml":  {fmt.Sprintf("mongodb_driver_retry_tokens) < %d", tokens/2)},
	} {
		content, err := os.ReadFile(filepath.Join(root, page))
		assert.NoError(t, err)
		words := strings.Join(strings.Fields(string(content)), " ")
		for _, sentence := range sentences {
			if sentence == "" || !strings.Contains(words, sentence) {
				t.Errorf("%s does not say %q, as the constants of the code have it", page, sentence)
			}
		}
	}
}

// waits are the longest backoffs of some retries, in seconds: each is twice as long as that before.
func waits(base, retries int) float64 {
	const inSecond = 1000
	return float64(base*(1<<retries-1)) / inSecond
}

// boundaries are the histogram's: from a quarter of the first backoff on, each twice as long as that before, up to the longest of all.
func boundaries(base, longest int) string {
	const inSecond = 1000
	var list []string
	for s := float64(base) / inSecond / 4; s < float64(longest); s *= 2 {
		list = append(list, strconv.FormatFloat(s, 'g', -1, 64))
	}
	return "{" + strings.Join(append(list, strconv.Itoa(longest)), ", ") + "}"
}

// constant returns a number of a file of the overlay.
func constant(t *testing.T, name, pattern string) int {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(text(t, name))
	require.NotNil(t, found, "%s has no %s", name, pattern)
	n, err := strconv.Atoi(found[1])
	require.NoError(t, err)
	return n
}

// TestFiguresOfTheReadme compares the README's table of successes with the tables of goals.md, which a tool writes.
func TestFiguresOfTheReadme(t *testing.T) {
	t.Parallel()
	goals := rows(text(t, "docs/performance/goals.md"))
	_, table, found := strings.Cut(text(t, "README.md"), "| overload | upstream")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	compared := 0
	for _, row := range rows(table) {
		scenario := map[string]string{
			"bursts": "bursts, 10 clients", "a fifth rejected at random": "20 % at random", "one of three members": "one of three at 1.25 ×",
			"50 connections a second": "50 connections a second",
		}[row[0]]
		if scenario == "" {
			continue
		}
		compared++
		assert.Equal(t, successes(goals, scenario), row[1:], row[0])
	}
	assert.Equal(t, 4, compared)
}

// rows are the cells of all tables of a page.
func rows(page string) (all [][]string) {
	for line := range strings.Lines(page) {
		if cells, isRow := strings.CutPrefix(strings.TrimSpace(line), "| "); isRow {
			all = append(all, strings.Split(strings.TrimSuffix(cells, " |"), " | "))
		}
	}
	return all
}

// successes are the figures of both untouched drivers and both forks in a scenario, of the first table with all of them.
func successes(goals [][]string, scenario string) (figures []string) {
	for _, row := range goals {
		what, scenarios, _ := strings.Cut(row[0], ": ")
		at := slices.Index(strings.Split(scenarios, "; "), scenario)
		if len(row) != 6 || at < 0 || !strings.Contains(what, "succe") {
			continue
		}
		for _, cell := range row[2:6] {
			figures = append(figures, strings.Split(cell, "; ")[at])
		}
		return figures
	}
	return nil
}

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

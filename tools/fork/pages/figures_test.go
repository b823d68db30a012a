package pages

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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

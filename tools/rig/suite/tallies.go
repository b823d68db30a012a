package suite

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/jedib0t/go-pretty/v6/table"

	"mongofork/tools/gotest"
	"mongofork/tools/rig/report"
)

// tallies count the cases that ran on each of the pinned servers. It is safe for concurrent use.
type tallies struct {
	mu      sync.Mutex
	rows    map[tallyRow]*tallyCounts
	servers []string
}

// tallyRow is a suite of a revision of the specifications.
type tallyRow struct{ revision, suite string }

// tallyCounts counts the cases of a row.
type tallyCounts struct {
	passed          map[string]int // by server
	failed, skipped int
}

// tallyAnswers counts a run, and notes the servers with the suite.
func (r *Rig) tallyAnswers(s *report.Suite, revision string, a *answers) {
	t := &r.tallies
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, result := range a.results {
		server := a.servers[i]
		if !slices.Contains(t.servers, server) {
			t.servers = append(t.servers, server)
		}
		for _, c := range result.Cases() {
			t.count(tallyRow{revision, specificationOf(c.Test)}, server, c.Outcome)
		}
		s.Note = joinNotes(s.Note, count(result.Count().Passed, "on "+server))
	}
}

func (t *tallies) count(row tallyRow, server string, outcome gotest.Outcome) {
	if t.rows == nil {
		t.rows = map[tallyRow]*tallyCounts{}
	}
	if t.rows[row] == nil {
		t.rows[row] = &tallyCounts{passed: map[string]int{}}
	}
	switch c := t.rows[row]; outcome {
	case gotest.Passed:
		c.passed[server]++
	case gotest.Failed:
		c.failed++
	default:
		c.skipped++
	}
}

// table shows the counts in the fork, or nothing if there are none.
func (t *tallies) table() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.rows) == 0 {
		return nil
	}
	w := table.NewWriter()
	header := table.Row{"revision", "suite", "cases"}
	for _, server := range t.servers {
		header = append(header, "passed on "+server)
	}
	w.AppendHeader(append(header, "failed", "skipped"))
	sums := make([]any, 0, len(header)+2)
	for _, name := range t.sorted() {
		cells := t.cells(t.rows[name])
		for i, cell := range cells {
			if i == len(sums) {
				sums = append(sums, 0)
			}
			sums[i] = sums[i].(int) + cell.(int) // all are
		}
		w.AppendRow(append(table.Row{name.revision, name.suite}, cells...))
	}
	w.AppendFooter(append(table.Row{"", "all"}, sums...))
	return []string{fmt.Sprintf("cases in the fork, by where they count:\n%s", w.Render())}
}

// cells are the numbers of a row.
func (t *tallies) cells(c *tallyCounts) []any {
	all := c.failed + c.skipped
	cells := []any{0}
	for _, server := range t.servers {
		all += c.passed[server]
		cells = append(cells, c.passed[server])
	}
	cells[0] = all
	return append(cells, c.failed, c.skipped)
}

func (t *tallies) sorted() []tallyRow {
	var rows []tallyRow
	for row := range t.rows {
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b tallyRow) int {
		if a.revision != b.revision {
			return strings.Compare(a.revision, b.revision)
		}
		return strings.Compare(a.suite, b.suite)
	})
	return rows
}

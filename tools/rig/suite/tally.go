package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"mongofork/tools/gotest"
)

// tally counts the outcomes of each specification's cases on each topology, in both trees.
type tally struct {
	counts             map[tallyKey]*[4]int
	suites, topologies []string
}

type tallyKey struct {
	topology, suite string
	fork            bool
}

// allSuites is the row of the sums.
const allSuites = "all"

func newTally(runs []topologyRun) *tally {
	t := &tally{counts: make(map[tallyKey]*[4]int)}
	for _, run := range runs {
		if !slices.Contains(t.topologies, run.topology) {
			t.topologies = append(t.topologies, run.topology)
		}
		for _, c := range run.result.Cases() {
			suite := specificationOf(c.Test)
			if !slices.Contains(t.suites, suite) {
				t.suites = append(t.suites, suite)
			}
			t.add(tallyKey{run.topology, suite, run.fork}, c.Outcome)
			t.add(tallyKey{run.topology, allSuites, run.fork}, c.Outcome)
		}
	}
	slices.Sort(t.suites)
	return t
}

func (t *tally) add(key tallyKey, outcome gotest.Outcome) {
	if t.counts[key] == nil {
		t.counts[key] = new([4]int)
	}
	t.counts[key][outcome]++
}

// cell formats the counts for the table.
func (t *tally) cell(key tallyKey) string {
	if n := t.counts[key]; n != nil {
		return fmt.Sprintf("%d/%d/%d", n[gotest.Passed], n[gotest.Failed], n[gotest.Skipped])
	}
	return "-"
}

// topologyTable is the table of the runs.
func topologyTable(runs []topologyRun) string {
	t := newTally(runs)
	w := table.NewWriter()
	header := table.Row{"suite"}
	for _, topology := range t.topologies {
		header = append(header, topology+" upstream", topology+" fork")
	}
	w.AppendHeader(header)
	for _, suite := range append(t.suites, allSuites) {
		row := table.Row{suite}
		for _, topology := range t.topologies {
			row = append(row, t.cell(tallyKey{topology, suite, false}), t.cell(tallyKey{topology, suite, true}))
		}
		w.AppendRow(row)
	}
	return "passed/failed/skipped:\n" + w.Render()
}

// specificationOf returns the heading for a case: the specification, which is the folder after the name of the test that runs the
// unified tests, or a heading for cases without a folder.
func specificationOf(test string) string {
	function, rest, _ := strings.Cut(test, "/")
	if function != "TestUnifiedSpec" && function != backpressureTest {
		return function
	}
	specification, _, _ := strings.Cut(rest, "/")
	return specification
}

package soak

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTally(t *testing.T) {
	arms := []Arm{{Name: "v1", Reference: true}, {Name: "fork"}}
	clean := func() *Report {
		return &Report{Operations: 15, Errors: map[string]int64{"network": 2}, Most: 6}
	}
	lost := func() *Report {
		r := clean()
		r.Violations = map[string]Violation{"acknowledged writes that are not there": {Count: 3, Example: "insert 7"}}
		return r
	}
	for name, test := range map[string]struct {
		reports [][]*Report
		failed  bool
		want    []string
	}{
		"nothing": {nil, false, nil},
		"none": {[][]*Report{{clean(), clean()}}, false,
			[]string{"| operations | 15 | 15 |", "| documented errors: network | 2 | 2 |"}},
		"the other's": {[][]*Report{{lost(), clean()}, {lost(), clean()}}, false, []string{
			"| acknowledged writes that are not there | 6 | 0 |",
			"v1, seed 0, the first of acknowledged writes that are not there: insert 7",
		}},
		"the fork's, seed by seed": {[][]*Report{{clean(), clean()}, {clean(), lost()}}, true, []string{
			"| operations | 30 | 30 |", "| commands of one operation, at most | 6 | 6 |",
			"| acknowledged writes that are not there | 0 | 3 |",
			"fork, seed 1, the first of",
		}},
	} {
		tally := NewTally(arms)
		for seed, reports := range test.reports {
			tally.Add(uint64(seed), reports)
		}
		assert.Equal(t, test.failed, tally.Failed(), name)
		text := tally.Render()
		for _, want := range test.want {
			assert.Contains(t, text, want, name)
		}
		assert.Contains(t, text, "errors that are not documented", name)
	}
}

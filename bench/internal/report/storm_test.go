package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"mongofork/bench/internal/goodput"
	"mongofork/bench/internal/openloop"
)

func stormResults(cleared int, with *int) *goodput.Results {
	return &goodput.Results{
		Storm: goodput.Storm{Clients: 10},
		Storms: []goodput.StormRun{{Arm: goodput.Adaptive, Report: &openloop.StormReport{
			Connected: 10, Cleared: cleared, ClearedWithConnections: with, Heartbeats: 9,
		}}},
	}
}

func TestStormGoals(t *testing.T) {
	number := func(n int) *int { return &n }
	tests := []struct {
		name         string
		cleared      int
		with         *int
		rows         []string
		says, unsaid string
	}{
		{"none", 0, number(0), []string{"pools cleared | 0 | 0 | yes |", "pools with connections cleared | 0 | 0 | yes |"}, "", "In the connection storm"},
		{"empty", 7, number(0), []string{"pools cleared | 0 | 7 | no, by 7 |", "pools with connections cleared | 0 | 0 | yes |"},
			"None of these pools had a connection", "Each of them"},
		{"some", 7, number(2), []string{"pools cleared | 0 | 7 | no, by 7 |", "pools with connections cleared | 0 | 2 | no, by 2 |"},
			"5 of these pools had no connection", "None of these"},
		{"all", 7, number(7), []string{"pools with connections cleared | 0 | 7 | no, by 7 |"}, "Each of them had connections.", "paused"},
		{"unknown", 7, nil, []string{"pools with connections cleared | 0 | not measured | not measured |"}, "pools were cleared 7 times", "these pools"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := stormResults(tt.cleared, tt.with)
			text := measuredGoalTable(r).RenderMarkdown()
			for _, reason := range reasons(r) {
				text += "\n" + reason
			}
			for _, row := range tt.rows {
				assert.Contains(t, text, row)
			}
			assert.Contains(t, text, tt.says)
			assert.NotContains(t, text, tt.unsaid)
		})
	}
	assert.Contains(t, stormTable(stormResults(7, number(2))).RenderMarkdown(), "| 7 | 2 | 9 | not measured |")
	unknown := stormResults(7, nil)
	unknown.Storms[0].Idle = 0.25
	assert.Contains(t, stormTable(unknown).RenderMarkdown(), "| 7 | not measured | 9 | 25 |")
}

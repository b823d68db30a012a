package demo

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// comparison returns one in which the fork did better.
func comparison(scenario string) Comparison {
	return Comparison{
		Scenario: scenario,
		Upstream: Summary{Operations: 100, Errors: 7, OverloadErrors: 6, LostWrites: 2, Commands: 110, Seconds: 1.26},
		Fork:     Summary{Operations: 100, Errors: 1, OverloadErrors: 1, Commands: 120, Seconds: 2},
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	want := strings.TrimPrefix(`
┌────────────┬──────────┬────────────┬────────┬─────────────┬─────────────┬──────────┬─────────┐
│ OVERLOADED │ DRIVER   │ OPERATIONS │ ERRORS │ OF OVERLOAD │ LOST WRITES │ COMMANDS │ SECONDS │
├────────────┼──────────┼────────────┼────────┼─────────────┼─────────────┼──────────┼─────────┤
│ no         │ upstream │        100 │      7 │           6 │           2 │      110 │ 1.3     │
│ no         │ fork     │        100 │      1 │           1 │           0 │      120 │ 2.0     │
├────────────┼──────────┼────────────┼────────┼─────────────┼─────────────┼──────────┼─────────┤
│ later      │ upstream │        100 │      7 │           6 │           2 │      110 │ 1.3     │
│ later      │ fork     │        100 │      1 │           1 │           0 │      120 │ 2.0     │
└────────────┴──────────┴────────────┴────────┴─────────────┴─────────────┴──────────┴─────────┘`, "\n")
	assert.Equal(t, want, Table([]Comparison{comparison("no"), comparison("later")}))
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*Comparison)
		better bool
		want   string
	}{
		"better": {
			func(*Comparison) {}, true,
			"The fork did better: upstream showed the application 14 errors and lost 4 writes in 200 operations, the fork 2 and 0 in 200.",
		},
		"as many errors": {
			func(c *Comparison) { c.Fork.Errors = 17 }, false,
			"The fork did not do better (18 errors against 14 and 4 lost writes): upstream showed the application 14 errors and lost 4 writes in 200 operations, the fork 18 and 0 in 200.",
		},
		"as many errors in one scenario": {
			func(c *Comparison) { c.Fork.Errors, c.Upstream.Errors, c.Upstream.LostWrites = 3, 3, 0 }, true,
			"The fork did better: upstream showed the application 10 errors and lost 2 writes in 200 operations, the fork 4 and 0 in 200.",
		},
		"no errors at all": {
			func(c *Comparison) { c.Fork.Errors, c.Upstream.Errors, c.Upstream.LostWrites = -1, -7, -2 }, false,
			"The fork did not do better (0 errors against 0 and 0 lost writes): upstream showed the application 0 errors and lost 0 writes in 200 operations, the fork 0 and 0 in 200.",
		},
		"a lost write": {
			func(c *Comparison) { c.Fork.LostWrites = 1 }, false,
			"The fork did not do better (later: 1 lost writes): upstream showed the application 14 errors and lost 4 writes in 200 operations, the fork 2 and 1 in 200.",
		},
		"not as many operations": {
			func(c *Comparison) { c.Fork.Operations = 99 }, false,
			"The fork did not do better (later: 99 operations against 100): upstream showed the application 14 errors and lost 4 writes in 200 operations, the fork 2 and 0 in 199.",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			later := comparison("later")
			test.change(&later)
			comparisons := []Comparison{comparison("no"), later}
			better, sentence := Verdict(comparisons)
			assert.Equal(t, test.better, better)
			assert.Equal(t, test.want, sentence)

			var out strings.Builder
			err := conclude(&out, comparisons)
			assert.Equal(t, test.better, err == nil, "%v", err)
			assert.Equal(t, Table(comparisons)+"\n\n"+sentence+"\n", out.String())
		})
	}
}

func TestVerdictOnNothing(t *testing.T) {
	t.Parallel()
	better, sentence := Verdict(nil)
	assert.False(t, better)
	assert.Contains(t, sentence, "nothing was compared")
}

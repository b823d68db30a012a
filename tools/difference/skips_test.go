package difference

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// entry is a valid block, with lines to be replaced by the tests.
const entry = `suite upstream
package p
test TestA/sub test
reason The specification
  demands another thing.
successor p TestOurs
`

func TestParseSkips(t *testing.T) {
	text := "# about the file\n\n" + entry + "\n# more\n" + strings.Replace(entry, "upstream", "spec", 1)
	skips, err := ParseSkips(strings.NewReader(text), "skips")
	require.NoError(t, err)
	want := Skip{
		Suite: "upstream", Package: "p", Test: "TestA/sub test", Line: 3,
		Reason: "The specification demands another thing.", Successor: "p TestOurs",
	}
	second := want
	second.Suite, second.Line = "spec", 11
	assert.Equal(t, []Skip{want, second}, skips)
}

func TestParseSkipsRefuses(t *testing.T) {
	tests := []struct {
		name, text, want string
	}{
		{"unknown field", entry + "owner nobody\n", `skips:7: unknown field "owner"`},
		{"missing field", strings.Replace(entry, "successor p TestOurs\n", "", 1), "skips:1: the entry has no successor"},
		{"empty field", strings.Replace(entry, "test TestA/sub test", "test", 1), "skips:1: the entry has no test"},
		{"field twice", entry + "test TestB\n", `skips:7: a second "test" in one entry`},
		{"loose continuation", "  text\n", "skips:1: an indented line continues a field"},
		{"unknown suite", strings.Replace(entry, "upstream", "unit", 1), `skips:1: unknown suite "unit"`},
		{"entry twice", entry + "\n" + entry, "skips:8: p TestA/sub test is on line 1 already"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseSkips(strings.NewReader(tt.text), "skips")
			assert.ErrorContains(t, err, tt.want)
		})
	}
	_, err := ParseSkips(strings.NewReader("owner a\n\nowner b\n"), "skips")
	assert.ErrorContains(t, err, "skips:1:")
	assert.ErrorContains(t, err, "skips:3:", "all mistakes are reported")
}

func TestExpect(t *testing.T) {
	list := func(test string) []Skip { return []Skip{{Package: "p", Test: test, Reason: "r", Line: 4}} }
	tests := []struct {
		name           string
		upstream, fork string
		list           []Skip
		regressed      int
		problem        string
	}{
		{"regresses as listed", "T passed", "T failed", list("T"), 0, ""},
		{"another test regresses", "T passed", "T failed", list("U"), 1, "line 4: p U is no test that was run"},
		{"is not listed", "T passed", "T failed", nil, 1, ""},
		{"passes again", "T passed", "T passed", list("T"), 0, "line 4: p T passes in the fork"},
		{"passes in the fork only", "T failed", "T passed", list("T"), 0, "line 4: p T passes in the fork"},
		{"fails upstream too here", "T failed", "T failed", list("T"), 0, ""},
		{"is skipped in both here", "T skipped", "T skipped", list("T"), 0, ""},
		{"a pattern is no name", "TestA passed", "TestA failed", list("Test.*"), 1, "line 4: p Test.* is no test"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := Compare(run(tt.upstream), run(tt.fork), nil)
			problems := d.Expect(tt.list, module)
			assert.Len(t, d.Regressed, tt.regressed)
			if tt.problem == "" {
				assert.Empty(t, problems)
				return
			}
			require.Len(t, problems, 1)
			assert.ErrorContains(t, problems[0], tt.problem)
		})
	}
}

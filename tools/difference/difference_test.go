package difference

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/gotest"
)

const module = "example.com/m"

func key(test string) gotest.Key { return gotest.Key{Package: module + "/p", Test: test} }

// run returns a result of the tests of one package, given as "Test outcome".
func run(tests ...string) *gotest.Result {
	outcomes := map[string]gotest.Outcome{"passed": gotest.Passed, "failed": gotest.Failed, "skipped": gotest.Skipped}
	var cases []gotest.Case
	for _, test := range tests {
		name, outcome, _ := strings.Cut(test, " ")
		cases = append(cases, gotest.Case{Key: key(name), Outcome: outcomes[outcome]})
	}
	return gotest.NewResult(cases...)
}

// describe says where each case of the difference stands.
func describe(d *Difference) []string {
	var all []string
	add := func(where, test string) { all = append(all, test+" "+where) }
	for _, k := range d.Passed {
		add("passed", k.Test)
	}
	for _, c := range d.Fixed {
		add("fixed", c.Test)
	}
	for _, c := range d.Broken {
		add("broken", c.Test)
	}
	for _, c := range d.Skipped {
		add("skipped", c.Test)
	}
	for _, k := range d.Gone {
		add("gone", k.Test)
	}
	for _, c := range d.Regressed {
		add("regressed", c.Test)
	}
	return all
}

func TestCompare(t *testing.T) {
	tests := []struct {
		upstream, fork string
		want           string
	}{
		{"T passed", "T passed", "T passed"},
		{"T passed", "T failed", "T regressed"},
		{"T passed", "T skipped", "T regressed"},
		{"T passed", "", "T regressed"},
		{"T failed", "T passed", "T fixed"},
		{"T failed", "T failed", "T broken"},
		{"T failed", "T skipped", "T skipped"},
		{"T failed", "", "T gone"},
		{"T skipped", "T passed", "T fixed"},
		{"T skipped", "T failed", "T regressed"},
		{"T skipped", "T skipped", "T skipped"},
		{"T skipped", "", "T gone"},
		{"", "T passed", ""},
		{"", "T failed", "T regressed"},
		{"", "T skipped", "T skipped"},
	}
	for _, tt := range tests {
		t.Run(tt.upstream+" to "+tt.fork, func(t *testing.T) {
			result := func(test string) *gotest.Result {
				if test == "" {
					return run()
				}
				return run(test)
			}
			got := describe(Compare(result(tt.upstream), result(tt.fork), nil))
			assert.Equal(t, tt.want, strings.Join(got, ", "))
		})
	}
}

func TestCompareSubtests(t *testing.T) {
	upstream := run("A passed", "A/x passed", "A/y passed")
	// The parent is skipped in the fork, so that its subtests are missing there.
	d := Compare(upstream, run("A skipped"), nil)
	assert.Equal(t, []string{"A regressed", "A/x regressed", "A/y regressed"}, describe(d))
}

func TestCompareLeavesOwnTestsOut(t *testing.T) {
	own := func(k gotest.Key) bool { return gotest.TopLevel(k.Test) == "Own" }
	d := Compare(run("A passed"), run("A passed", "Own failed", "Own/x failed"), own)
	assert.Equal(t, []string{"A passed"}, describe(d))
}

// scripted answers repetitions from a script, by tree and in order.
type scripted struct {
	fork, upstream []gotest.Outcome
}

func (s *scripted) rerun(_ context.Context, inFork bool, _ gotest.Key) (gotest.Outcome, error) {
	list := &s.upstream
	if inFork {
		list = &s.fork
	}
	if len(*list) == 0 {
		return gotest.Missing, errors.New("one repetition too many")
	}
	next := (*list)[0]
	*list = (*list)[1:]
	return next, nil
}

func TestConfirm(t *testing.T) {
	const p, f, s = gotest.Passed, gotest.Failed, gotest.Skipped
	type outcomes = []gotest.Outcome
	tests := []struct {
		name           string
		was            gotest.Outcome
		fork, upstream outcomes
		regressed      bool
		attempts       int
		passesInFork   bool
	}{
		{"fails each time", p, outcomes{f, f, f}, outcomes{p, p, p}, true, 0, false},
		{"missing each time", p, outcomes{gotest.Missing, gotest.Missing, gotest.Missing}, outcomes{p, p, p}, true, 0, false},
		{"passes at once", p, outcomes{p}, nil, false, 1, true},
		{"passes the last time", p, outcomes{f, f, p}, outcomes{p, p}, false, 3, true},
		{"upstream fails too", p, outcomes{f, f}, outcomes{p, f}, false, 2, false},
		{"upstream skips it", s, outcomes{f, f, f}, outcomes{s, s, s}, true, 0, false},
		{"upstream skipped it and fails", s, outcomes{f}, outcomes{f}, false, 1, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := &Difference{Regressed: []Change{{Key: key("T"), Upstream: tt.was, Fork: f}}}
			script := &scripted{fork: tt.fork, upstream: tt.upstream}
			repeated, err := d.Confirm(t.Context(), script.rerun, 3, 5)
			require.NoError(t, err)
			assert.True(t, repeated)
			assert.Equal(t, tt.regressed, len(d.Regressed) == 1)
			assert.Empty(t, script.fork, "repetitions left")
			if !tt.regressed {
				require.Len(t, d.Unsteady, 1)
				assert.Equal(t, tt.attempts, d.Unsteady[0].Attempts)
				assert.Equal(t, tt.passesInFork, d.Unsteady[0].PassesInFork)
			}
		})
	}
}

func TestConfirmLeavesAlone(t *testing.T) {
	none := &scripted{}
	packages := &Difference{Regressed: []Change{{Key: key(""), Upstream: gotest.Passed, Fork: gotest.Failed}}}
	repeated, err := packages.Confirm(t.Context(), none.rerun, 3, 5)
	require.NoError(t, err)
	assert.True(t, repeated)
	assert.Len(t, packages.Regressed, 1, "a package that does not compile")

	many := &Difference{Regressed: make([]Change, 6)}
	repeated, err = many.Confirm(t.Context(), none.rerun, 3, 5)
	require.NoError(t, err)
	assert.False(t, repeated)
	assert.Len(t, many.Regressed, 6, "more than the limit")
}

func TestConfirmStopsAtAnError(t *testing.T) {
	d := &Difference{Regressed: []Change{{Key: key("T")}}}
	_, err := d.Confirm(t.Context(), (&scripted{}).rerun, 3, 5)
	assert.ErrorContains(t, err, "one repetition too many")
}

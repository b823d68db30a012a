package outcomes

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/difference"
	"mongofork/tools/gotest"
)

const module = "example.com/m"

// run makes a result of lines "folder Test outcome [reason]".
func run(lines ...string) *gotest.Result {
	var cases []gotest.Case
	for _, line := range lines {
		words := strings.SplitN(line, " ", 4)
		c := gotest.Case{Key: gotest.Key{Package: module + "/" + words[0], Test: words[1]}}
		c.Outcome = map[string]gotest.Outcome{"passed": gotest.Passed, "failed": gotest.Failed, "skipped": gotest.Skipped}[words[2]]
		cases = append(cases, c)
	}
	return gotest.NewResult(cases...)
}

// key is a key as records have it.
func key(folder, test string) gotest.Key { return gotest.Key{Package: folder, Test: test} }

const (
	crud  = "u TestUnifiedSpec/crud/tests/a.json/"
	retry = "u TestUnifiedSpec/retryable/tests/b.json/"
)

// untouched is what the record of most tests is made of.
var untouched = []string{
	"p TestA passed", "p TestB/x failed", "p TestB/y passed", "p TestC skipped", "p TestDNS/one failed",
	crud + "one passed", crud + "two failed", retry + "one skipped", retry + "two passed",
}

// forked is a run in the fork that is as the record expects.
var forked = []string{
	"p TestA passed", "p TestB/x failed", "p TestB/y passed", "p TestC skipped", "p TestDNS/one passed", "p TestOurs failed",
	crud + "one passed", crud + "two failed", retry + "one passed", retry + "two passed",
}

func measurement(untouched ...[]string) Measurement {
	m := Measurement{Platform: "linux/amd64", Server: "mongod 6.0", Module: module, Fork: run(forked...), Own: own}
	for _, lines := range untouched {
		m.Untouched = append(m.Untouched, run(lines...))
	}
	return m
}

func own(key gotest.Key) bool { return key.Test == "TestOurs" }

// record is of untouched.
func record() *Record {
	earlier := &Record{Varies: map[gotest.Key]string{key("p", "TestDNS"): "asks the DNS"}}
	return New(measurement(untouched), earlier)
}

func TestNew(t *testing.T) {
	t.Parallel()
	r := record()
	assert.Equal(t, map[gotest.Key]bool{key("p", "TestB/x"): true, key("u", crud[2:]+"two"): true}, r.Failed)
	assert.Equal(t, map[gotest.Key]gotest.Outcome{key("u", retry[2:]+"one"): gotest.Skipped}, r.Fork)
	counts := map[string][2]int{}
	for name, g := range r.Groups {
		counts[name] = [2]int{g.Passed, g.Skipped}
		assert.Regexp(t, "^[0-9a-f]{12}$", g.Hash)
	}
	assert.Equal(t, map[string][2]int{"p": {2, 1}, "u TestUnifiedSpec/crud": {1, 0}, "u TestUnifiedSpec/retryable": {1, 1}}, counts)
}

func TestWhatDiffersBetweenRunsVaries(t *testing.T) {
	t.Parallel()
	second := append([]string{}, untouched...)
	second[0] = "p TestA failed"
	second = append(second[:7], second[8:]...) // retry one is gone
	r := New(measurement(untouched, second, untouched), nil)
	assert.Equal(t, map[gotest.Key]string{
		key("p", "TestA"): "passed in 2 of 3 runs", key("u", retry[2:]+"one"): "passed in 0 of 3 runs",
	}, r.Varies)
	assert.NotContains(t, r.Fork, key("u", retry[2:]+"one"))
	assert.Equal(t, r.Groups, New(measurement(second, untouched), nil).Groups, "what varies is in no group")
}

func TestWhatPassesAgainVaries(t *testing.T) {
	t.Parallel()
	m := measurement(untouched, untouched)
	full := func(test string) gotest.Key { return gotest.Key{Package: module + "/p", Test: test} }
	m.Again = map[gotest.Key]bool{full("TestB/x"): true, full("TestDNS/one"): false}
	r := New(m, nil)
	assert.Equal(t, map[gotest.Key]string{key("p", "TestB/x"): "passed in 0 of 2 runs, and when it was repeated"}, r.Varies)
	assert.NotContains(t, r.Failed, key("p", "TestB/x"))
}

func TestTextIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	r := record()
	again, err := Parse(strings.NewReader(r.String()), "outcomes")
	require.NoError(t, err)
	assert.Equal(t, r, again)
}

func TestParseReportsAllMistakes(t *testing.T) {
	t.Parallel()
	_, err := Parse(strings.NewReader("platform linux/amd64\ngroup one 2 h p\ngroup 1 2 h\nfork passed p TestA\nvaries p TestA\nnonsense\n# fine\n"), "f")
	require.Error(t, err)
	for _, line := range []string{"f:2: ", "f:3: ", "f:4: ", "f:5: ", "f:6: "} {
		assert.ErrorContains(t, err, line)
	}
	assert.NotContains(t, err.Error(), "f:1: ")
	assert.NotContains(t, err.Error(), "f:7: ")
}

// with returns forked with one line replaced, or with one more.
func with(line string) []string {
	lines := append([]string{}, forked...)
	name := line[:strings.LastIndexByte(line, ' ')+1]
	for i := range lines {
		if strings.HasPrefix(lines[i], name) {
			lines[i] = line
			return lines
		}
	}
	return append(lines, line)
}

func TestJudge(t *testing.T) {
	t.Parallel()
	full := func(folder, test string) gotest.Key { return gotest.Key{Package: module + "/" + folder, Test: test} }
	tests := map[string]struct {
		fork      []string
		regressed []gotest.Key
		better    []gotest.Key
		groups    []string
	}{
		"as recorded":                      {fork: forked},
		"a test of ours changes nothing":   {fork: with("p TestOurs passed")},
		"what varies changes nothing":      {fork: with("p TestDNS/one failed")},
		"fails":                            {fork: with("p TestA failed"), regressed: []gotest.Key{full("p", "TestA")}},
		"fails though it was skipped":      {fork: with("p TestC failed"), regressed: []gotest.Key{full("p", "TestC")}},
		"a new test fails":                 {fork: with("q TestNew failed"), regressed: []gotest.Key{full("q", "TestNew")}},
		"skipped though it passed":         {fork: with("p TestA skipped"), groups: []string{"p"}},
		"passes though it was skipped":     {fork: with("p TestC passed"), groups: []string{"p"}},
		"one is gone":                      {fork: forked[1:], groups: []string{"p"}},
		"one is new":                       {fork: with(crud + "three passed"), groups: []string{"u TestUnifiedSpec/crud"}},
		"all of a group are gone":          {fork: forked[:8], groups: []string{"u TestUnifiedSpec/retryable"}},
		"passes though it failed":          {fork: with("p TestB/x passed"), better: []gotest.Key{full("p", "TestB/x")}},
		"skipped though it failed":         {fork: with("p TestB/x skipped"), better: []gotest.Key{full("p", "TestB/x")}},
		"no longer better than upstream":   {fork: with(retry + "one skipped"), regressed: []gotest.Key{full("u", retry[2:]+"one")}},
		"worse where it was better":        {fork: with(retry + "one failed"), regressed: []gotest.Key{full("u", retry[2:]+"one")}},
		"a group with a failure says none": {fork: with("p TestB/y failed"), regressed: []gotest.Key{full("p", "TestB/y")}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := record().Judge(run(tt.fork...), module, own, nil)
			var regressed []gotest.Key
			for _, change := range v.Regressed {
				regressed = append(regressed, change.Key)
			}
			assert.Equal(t, tt.regressed, regressed)
			assert.Equal(t, tt.better, v.Better)
			assert.Equal(t, tt.groups, v.Groups)
			assert.Empty(t, v.Stale)
		})
	}
}

func TestJudgeCountsEachCaseOnce(t *testing.T) {
	t.Parallel()
	v := record().Judge(run(with("p TestDNS/one failed")...), module, own, nil)
	assert.Equal(t, 4, v.Passed)
	assert.Equal(t, 1, v.ForkOnly)
	assert.Len(t, v.Failed, 2)
	assert.Len(t, v.Skipped, 1)
	assert.Len(t, v.Varying, 1)
}

func TestJudgeWithASkipList(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		test  string
		fork  []string
		stale string
	}{
		"fails as expected":  {"TestA", with("p TestA failed"), ""},
		"is skipped instead": {"TestA", with("p TestA skipped"), ""},
		"passes again":       {"TestA", forked, "line 7: p TestA passes in the fork; remove the entry"},
		"no such test":       {"TestX", forked, "line 7: p TestX is no test that was run"},
		"is removed":         {"TestA", forked[1:], ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := record().Judge(run(tt.fork...), module, own, []difference.Skip{{Package: "p", Test: tt.test, Line: 7}})
			assert.Empty(t, v.Regressed)
			assert.Empty(t, v.Groups)
			if tt.stale == "" {
				assert.Empty(t, v.Stale)
				assert.Len(t, v.Expected, 1)
				return
			}
			require.Len(t, v.Stale, 1)
			assert.ErrorContains(t, v.Stale[0], tt.stale)
		})
	}
}

// Tests that the fork removed are listed one by one: if some are not, or one is listed that never was, nothing is explained.
func TestJudgeRemovedTests(t *testing.T) {
	t.Parallel()
	list := func(tests ...string) (skips []difference.Skip) {
		for i, test := range tests {
			skips = append(skips, difference.Skip{Package: "p", Test: test, Line: i + 1})
		}
		return skips
	}
	lacking := append([]string{forked[1]}, forked[3:]...) // neither TestA nor TestB/y
	for name, tt := range map[string]struct {
		skips           []difference.Skip
		groups          []string
		expected, stale int
	}{
		"all are listed":           {list("TestA", "TestB/y"), nil, 2, 0},
		"one is not":               {list("TestA"), []string{"p"}, 0, 1},
		"one more is listed":       {list("TestA", "TestB/y", "TestX"), []string{"p"}, 0, 3},
		"another one in its place": {list("TestA", "TestX"), []string{"p"}, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := record().Judge(run(lacking...), module, own, tt.skips)
			assert.Equal(t, tt.groups, v.Groups)
			assert.Len(t, v.Expected, tt.expected)
			assert.Len(t, v.Stale, tt.stale)
			for _, e := range v.Expected {
				assert.Equal(t, module+"/p", e.Key.Package)
			}
		})
	}
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	assert.Empty(t, record().Differences(record()))
	changed := append([]string{}, untouched...)
	changed[0], changed[1] = "p TestA failed", "p TestB/x passed"
	later := New(measurement(changed), &Record{Varies: map[gotest.Key]string{key("p", "TestDNS"): "other words"}})
	later.Server = "mongod 7.0"
	assert.Equal(t, []string{
		`server "mongod 6.0" is recorded, but was "mongod 7.0"`,
		"p: 2 passed and 1 skipped are recorded, but were 2 and 1",
		"failed: p TestB/x is recorded, but was not found",
		"pass in the fork only: p TestA was found, but is not recorded",
	}, record().Differences(later))
}

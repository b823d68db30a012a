package gotest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// script writes an event stream. Each line is "action package test output"; the
// last two may be missing, and "-" is an empty test.
func script(t *testing.T, lines ...string) string {
	t.Helper()
	var stream strings.Builder
	for _, line := range lines {
		words := strings.SplitN(line, " ", 4)
		e := event{Action: words[0], Package: words[1]}
		if len(words) > 2 && words[2] != "-" {
			e.Test = words[2]
		}
		if len(words) > 3 {
			e.Output = words[3] + "\n"
		}
		text, err := json.Marshal(e)
		require.NoError(t, err)
		stream.Write(append(text, '\n'))
	}
	return stream.String()
}

func TestParse(t *testing.T) {
	tests := []struct {
		name   string
		stream []string
		want   []string
	}{
		{
			name: "passes, failures and skips",
			stream: []string{
				"start p",
				"run p TestA", "pass p TestA",
				"run p TestB", "fail p TestB",
				"run p TestC", "output p TestC     c_test.go:3: no server", "skip p TestC",
				"fail p",
			},
			want: []string{"p TestA passed", "p TestB failed", "p TestC skipped"},
		},
		{
			name:   "package without tests",
			stream: []string{"start p", "skip p"},
		},
		{
			name:   "package whose tests are all filtered out",
			stream: []string{"start p", "output p - ok p [no tests to run]", "pass p"},
		},
		{
			name: "subtests count instead of their parents",
			stream: []string{
				"start p", "run p TestA", "run p TestA/x", "run p TestA/x/y", "fail p TestA/x/y", "fail p TestA/x",
				"run p TestA/z", "pass p TestA/z", "fail p TestA", "fail p",
			},
			want: []string{"p TestA/x/y failed", "p TestA/z passed"},
		},
		{
			name: "parent that fails by itself counts too",
			stream: []string{
				"start p", "run p TestA", "run p TestA/x", "pass p TestA/x", "fail p TestA", "fail p",
			},
			want: []string{"p TestA failed", "p TestA/x passed"},
		},
		{
			name:   "package that does not compile",
			stream: []string{"start p", "output p - FAIL p [build failed]", "fail p"},
			want:   []string{"p failed"},
		},
		{
			name: "package that fails after its tests",
			stream: []string{
				"start p", "run p TestA", "pass p TestA", "output p - race detected outside of test execution", "fail p",
			},
			want: []string{"p failed", "p TestA passed"},
		},
		{
			name: "panic takes down the tests that run",
			stream: []string{
				"start p", "run p TestA", "run p TestA/x", "run p TestB", "pass p TestB",
				"output p TestA/x panic: boom", "fail p TestA/x", "fail p",
			},
			want: []string{"p TestA/x failed", "p TestB passed"},
		},
		{
			name: "binary that dies fails each test that has started",
			stream: []string{
				"start p", "run p TestA", "run p TestB", "run p TestC", "pass p TestC", "fail p",
			},
			want: []string{"p TestA failed", "p TestB failed", "p TestC passed"},
		},
		{
			name:   "stream that ends fails packages and tests without a result",
			stream: []string{"start p", "run p TestA", "pass p TestA", "start q", "run q TestB"},
			want:   []string{"p failed", "p TestA passed", "q TestB failed"},
		},
		{
			name: "timeout",
			stream: []string{
				"start p", "run p TestA", "output p TestA panic: test timed out after 1s", "fail p TestA", "fail p",
			},
			want: []string{"p TestA failed"},
		},
		{
			name: "other numbers in names are kept",
			stream: []string{"start p", "run p TestA/0xdeadbeef", "pass p TestA/0xdeadbeef", "run p TestA/0x7fffffff",
				"pass p TestA/0x7fffffff", "pass p"},
			want: []string{"p TestA/0x7fffffff passed", "p TestA/0xdeadbeef passed"},
		},
		{
			name: "pointers in names are one name, and its failure counts",
			stream: []string{
				"start p", "run p TestA/(*T)(0xc000123456)", "fail p TestA/(*T)(0xc000123456)",
				"run p TestA/(*T)(0xc000999999)", "pass p TestA/(*T)(0xc000999999)", "fail p",
			},
			want: []string{"p TestA/(*T)(0xADDRESS) failed"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			result, err := Parse(strings.NewReader(script(t, tt.stream...)))
			require.NoError(t, err)
			var got []string
			for _, c := range result.Cases() {
				got = append(got, c.Key.String()+" "+string(c.Outcome))
			}
			assert.Empty(t, cmp.Diff(tt.want, got))
		})
	}
}

func TestParseBuildOutput(t *testing.T) {
	stream := `{"ImportPath":"p [p.test]","Action":"build-output","Output":"p/a_test.go:1:1: undefined: x\n"}
{"ImportPath":"p [p.test]","Action":"build-fail"}
{"Action":"start","Package":"p"}
{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}
{"Action":"fail","Package":"p","Elapsed":0,"FailedBuild":"p [p.test]"}
`
	result, err := Parse(strings.NewReader(stream))
	require.NoError(t, err)
	require.Len(t, result.Cases(), 1)
	c := result.Cases()[0]
	assert.Equal(t, Failed, c.Outcome)
	assert.Equal(t, []string{"FAIL\tp [build failed]", "p/a_test.go:1:1: undefined: x"}, c.Output)
}

func TestParseKeepsLinesThatAreNoEvents(t *testing.T) {
	stream := "warning: something\n" + script(t, "start p", "run p TestA", "pass p TestA", "pass p") + `{"half":`
	result, err := Parse(strings.NewReader(stream))
	require.NoError(t, err)
	assert.Equal(t, []string{"warning: something", `{"half":`}, result.Stray)
	assert.Equal(t, Counts{Passed: 1}, result.Count())
}

func TestReason(t *testing.T) {
	tests := []struct {
		name   string
		output []string
		want   string
	}{
		{"none", []string{"=== RUN   TestA", "--- SKIP: TestA (0.00s)"}, "no reason given"},
		{"one", []string{"=== RUN   TestA", "    a_test.go:7: no server: none", "--- SKIP: TestA (0.00s)"}, "no server: none"},
		{"last of several", []string{"    a_test.go:7: setting up", "    skip.go:70: too old"}, "too old"},
		{"several lines", []string{"    a_test.go:7: first", "        second", "    --- SKIP: TestA/x (0.00s)"}, "first second"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, Case{Output: tt.output}.Reason())
		})
	}
}

func TestWhere(t *testing.T) {
	c := Case{Output: []string{"=== RUN   TestA", "    a_test.go:7: setting up", "    a_test.go:12: wrong", "--- FAIL: TestA (0.00s)"}}
	assert.Equal(t, "a_test.go:12", c.Where())
	assert.Empty(t, Case{Output: []string{"panic: boom"}}.Where())
}

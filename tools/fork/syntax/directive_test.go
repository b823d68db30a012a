package syntax

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseDirective(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]Directive{
		"//fork:replace it waits":        {Verb: Replace, Reason: "it waits"},
		"//fork:wrap\tcounts   calls  ":  {Verb: Wrap, Reason: "counts calls"},
		"//fork:extend limits\r":         {Verb: Extend, Reason: "limits"},
		"//fork:remove x.Y not used now": {Verb: Remove, Target: "x.Y", Reason: "not used now"},
		"//fork:base  >=v2.6.0 <v2.9.0":  {Verb: Base, Range: BaseRange{">=v2.6.0", "<v2.9.0"}},
	} {
		d, ok, err := ParseDirective(line)
		require.True(t, ok, line)
		require.NoError(t, err, line)
		require.Equal(t, want, d)
	}
	for _, prose := range []string{"// forks: replace", "//go:build linux", "// see fork:replaced", "//", ""} { // "refused" has what is wrong
		_, ok, err := ParseDirective(prose)
		require.False(t, ok, prose)
		require.NoError(t, err, prose)
	}
}

func TestBaseRangeHolds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		terms   []string
		version string
		want    bool
	}{
		{[]string{">=v2.6.0", "<v2.9.0"}, "v2.6.0", true},
		{[]string{">=v2.6.0", "<v2.9.0"}, "v2.9.0", false},
		{[]string{">=v2.10.0"}, "v2.9.0", false}, // numbers, not text
	} {
		r, err := ParseBaseRange(tc.terms)
		require.NoError(t, err)
		require.Equal(t, tc.want, r.Holds(tc.version), "%s with %s", r, tc.version)
	}
	require.True(t, BaseRange(nil).Holds("v1.0.0"), "no term excludes nothing")
}

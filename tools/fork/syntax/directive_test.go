package syntax

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseDirective(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ line, want string }{
		{"//fork:replace it waits", "//fork:replace it waits"},
		{"//fork:wrap\tcounts   calls  ", "//fork:wrap counts calls"},
		{"//fork:extend limits\r", "//fork:extend limits"},
		{"//fork:watch A B.C x/y.D", "//fork:watch A B.C x/y.D"},
		{"//fork:base  >=v2.6.0 <v2.9.0", "//fork:base >=v2.6.0 <v2.9.0"},
	} {
		d, ok, err := ParseDirective(tc.line)
		require.True(t, ok, tc.line)
		require.NoError(t, err, tc.line)
		require.Equal(t, tc.want, d.String())
	}
	for _, prose := range []string{"// forks: replace", "//go:build linux", "// see fork:replaced", "//", ""} {
		_, ok, err := ParseDirective(prose)
		require.False(t, ok, prose)
		require.NoError(t, err, prose)
	}
	for _, wrong := range []string{"//fork:", "//fork:replacement x", "//fork:Replace x", "//fork:wrap", "//fork:watch ", "// fork:extend x", "/*fork:wrap x*/"} {
		_, ok, err := ParseDirective(wrong)
		require.True(t, ok, wrong)
		require.Error(t, err, wrong)
	}
}

func TestBaseRangeHolds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		terms   []string
		version string
		want    bool
	}{
		{[]string{"=v2.5.0"}, "v2.5.0", true},
		{[]string{"=v2.5.0"}, "v2.5.1", false},
		{[]string{">=v2.6.0", "<v2.9.0"}, "v2.6.0", true},
		{[]string{">=v2.6.0", "<v2.9.0"}, "v2.9.0", false},
		{[]string{">v2.6.0"}, "v2.6.0", false},
		{[]string{"<=v2.6.0"}, "v2.6.0", true},
		{[]string{">=v2.10.0"}, "v2.9.0", false}, // numbers, not text
	} {
		r, err := ParseBaseRange(tc.terms)
		require.NoError(t, err)
		require.Equal(t, tc.want, r.Holds(tc.version), "%s with %s", r, tc.version)
	}
	require.True(t, BaseRange(nil).Holds("v1.0.0"), "no term excludes nothing")
}

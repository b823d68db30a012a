package version

import (
	"regexp"
	"runtime/debug"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
)

// A release is a pre-release of its base, with one hyphen, as the module proxy and go.sum have it.
func TestDriverNamesTheFork(t *testing.T) {
	t.Parallel()
	assert.True(t, regexp.MustCompile(`^2\.\d+\.\d+-`+regexp.QuoteMeta(Fork)+`$`).MatchString(Driver), Driver)
	assert.True(t, regexp.MustCompile(`^[a-z]+\.(0|[1-9][0-9]*)(\.[0-9a-z]+)*$`).MatchString(Fork), Fork)
}

func TestRequired(t *testing.T) {
	t.Parallel()
	fork := &debug.Module{Path: "../build/v2.5.0", Version: "(devel)"}
	program := func(version string) *debug.BuildInfo {
		return &debug.BuildInfo{
			Deps: []*debug.Module{
				{Path: "example.com/other", Version: "v2.9.9"},
				{Path: modulePath, Version: version, Replace: fork},
			},
		}
	}
	for _, tc := range []struct {
		name string
		info *debug.BuildInfo
		want string
		new  bool
	}{
		{name: "no information", info: nil, want: "", new: false},
		{name: "the driver's own tests", info: &debug.BuildInfo{Main: debug.Module{Path: modulePath}}, want: "", new: false},
		{name: "the same", info: program("v2.5.0"), want: "v2.5.0", new: false},
		{name: "an older one", info: program("v2.4.9"), want: "v2.4.9", new: false},
		{name: "a newer patch", info: program("v2.5.1"), want: "v2.5.1", new: true},
		{name: "a newer minor version", info: program("v2.6.0"), want: "v2.6.0", new: true},
		{name: "more digits", info: program("v2.10.0"), want: "v2.10.0", new: true},
		{name: "a release of the fork", info: program("v2.5.0-fork.3"), want: "v2.5.0-fork.3", new: false},
		{name: "on the way to a newer one", info: program("v2.6.0-beta1"), want: "v2.6.0-beta1", new: true},
		{name: "a commit", info: program("v2.5.1-0.20260101000000-0123456789ab"), want: "v2.5.1-0.20260101000000-0123456789ab", new: true},
		{name: "a placeholder", info: program("v2.0.0-00010101000000-000000000000"), want: "v2.0.0-00010101000000-000000000000"},
	} {
		got, newer := requiredIn(tc.info, "v2.5.0")
		assert.Equal(t, tc.want, got, tc.name)
		assert.Equal(t, tc.new, newer, tc.name)
	}
	got, newer := Required()
	assert.Equal(t, "", got, "in the driver's own tests")
	assert.False(t, newer)
}

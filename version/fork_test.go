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
	assert.True(t, regexp.MustCompile(`^[a-z]+\.[1-9][0-9]*$`).MatchString(Fork), Fork)
}

func TestRequired(t *testing.T) {
	t.Parallel()
	fork := &debug.Module{Path: "../build/v2.5.0", Version: "(devel)"}
	program := func(version string) *debug.BuildInfo {
		return &debug.BuildInfo{Deps: []*debug.Module{{Path: "example.com/other", Version: "v2.9.9"}, {Path: modulePath, Version: version, Replace: fork}}}
	}
	for _, tc := range []struct {
		name string
		info *debug.BuildInfo
		want string
		new  bool
	}{
		{"no information", nil, "", false},
		{"the driver's own tests", &debug.BuildInfo{Main: debug.Module{Path: modulePath}}, "", false},
		{"the same", program("v2.5.0"), "v2.5.0", false},
		{"an older one", program("v2.4.9"), "v2.4.9", false},
		{"a newer patch", program("v2.5.1"), "v2.5.1", true},
		{"a newer minor version", program("v2.6.0"), "v2.6.0", true},
		{"more digits", program("v2.10.0"), "v2.10.0", true},
		{"a release of the fork", program("v2.5.0-fork.3"), "v2.5.0-fork.3", false},
		{"on the way to a newer one", program("v2.6.0-beta1"), "v2.6.0-beta1", true},
		{"a commit", program("v2.5.1-0.20260101000000-0123456789ab"), "v2.5.1-0.20260101000000-0123456789ab", true},
		{"a placeholder", program("v2.0.0-00010101000000-000000000000"), "v2.0.0-00010101000000-000000000000", false},
	} {
		got, newer := requiredIn(tc.info, "v2.5.0")
		assert.Equal(t, tc.want, got, tc.name)
		assert.Equal(t, tc.new, newer, tc.name)
	}
	got, newer := Required()
	assert.Equal(t, "", got, "in the driver's own tests")
	assert.False(t, newer)
}

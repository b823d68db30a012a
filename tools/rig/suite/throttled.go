package suite

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// forced is a change to a file of the fork that switches adaptiveThrottling on without the tests' asking for it. Production code
// has no switch for that: go test compiles the changed file in place of the original (-overlay).
type forced struct{ file, old, new string }

// forcedThrottling switches it on for every client that does not say otherwise, and for every scripted deployment.
func forcedThrottling() []forced {
	return []forced{
		{
			file: "x/mongo/driver/topology/overload.go",
			old:  "opts.AdaptiveThrottling != nil && *opts.AdaptiveThrottling {",
			new:  "opts.AdaptiveThrottling == nil || *opts.AdaptiveThrottling {",
		},
		{
			file: "internal/overloadtest/script.go",
			old:  "FirstBackoff: retry.BaseBackoff,",
			new: "FirstBackoff: retry.BaseBackoff, " +
				"Throttling: func() *retry.Throttling { rule := retry.DefaultThrottling(); return &rule }(),",
		},
	}
}

// overlayFlags writes the changed files to dir, and returns the flags that make go test use them.
func overlayFlags(dir, fork string, changes []forced) ([]string, error) {
	fork, err := filepath.Abs(fork)
	if err != nil {
		return nil, err
	}
	replace := map[string]string{}
	for i, change := range changes {
		name := filepath.Join(fork, filepath.FromSlash(change.file))
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if n := strings.Count(string(text), change.old); n != 1 {
			return nil, fmt.Errorf("%s has %q %d times, not once; update the change in tools/rig/suite/throttled.go", change.file, change.old, n)
		}
		replace[name] = filepath.Join(dir, fmt.Sprintf("%d.go", i))
		changed := strings.Replace(string(text), change.old, change.new, 1)
		if err := os.WriteFile(replace[name], []byte(changed), 0o600); err != nil {
			return nil, err
		}
	}
	content, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	list := filepath.Join(dir, "overlay.json")
	return []string{"-overlay=" + list}, os.WriteFile(list, content, 0o600)
}

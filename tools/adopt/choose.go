package adopt

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
)

// choose returns the lowest base that is not below the required version, or the wanted one. As with any requirement in go.mod,
// the application may get a newer driver than it asks for, never an older one.
func choose(bases []string, wanted, required string) (string, error) {
	if wanted != "" {
		switch {
		case !slices.Contains(bases, wanted):
			return "", fmt.Errorf("there is no base %s; there are %s", wanted, strings.Join(bases, ", "))
		case semver.Compare(wanted, required) < 0:
			return "", fmt.Errorf("it requires %s of the driver, and the fork of %s would be a step back; leave --base out", required, wanted)
		}
		return wanted, nil
	}
	for _, base := range bases {
		if semver.Compare(base, required) >= 0 {
			return base, nil
		}
	}
	return "", fmt.Errorf("it requires %s of the driver, which is newer than every base (%s): a fork of an older one would be a step back; "+
		"docs/upstream.md says how a base is added", required, strings.Join(bases, ", "))
}

package output

import (
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/mod/semver"

	"mongofork/tools/fork/plan"
)

// patchLevelFile is the file of the overlay with a constant that names the patch level of the fork, such as fork.1. What is compiled
// into the fork, and reported in handshakes and logs, is also what it is released as.
const patchLevelFile = "version/fork.go"

var patchLevel = regexp.MustCompile(`(?m)^const Fork = "([^"]+)"$`)

// ReleaseVersion returns the version that a plan's fork is released as: the base, a hyphen, and the patch level that the overlay names.
func ReleaseVersion(p *plan.Plan) (string, error) {
	if v := ownVersion(p); v != "" {
		return v, nil
	}
	return "", fmt.Errorf("%s does not name the patch level by a constant Fork; give --version", patchLevelFile)
}

// ownVersion returns the version that the plan's fork calls itself, empty if the overlay has no such constant.
func ownVersion(p *plan.Plan) string {
	for _, f := range p.Overlay.Files {
		if level := patchLevel.FindSubmatch(f.Data); f.Path == patchLevelFile && level != nil {
			return p.Module.Version + "-" + string(level[1])
		}
	}
	return ""
}

// CheckVersion refuses anything but a full version, and versions that are or could become upstream's own, which go.sum files know
// with other content. A pre-release of the base shows the fork's base and its origin.
func CheckVersion(base, version string) error {
	if semver.Canonical(version) != version || !strings.HasPrefix(version, base+"-") {
		return fmt.Errorf("version %q: want a version of the fork of %s, such as --version %s-fork.1", version, base, base)
	}
	return nil
}

package output

import (
	"fmt"
	"regexp"

	"mongofork/tools/fork/plan"
)

// patchLevelFile is the file of the overlay with a constant that names the patch level of the fork, such as fork.1. What is compiled
// into the fork, and reported in handshakes and logs, is also what it is released as.
const patchLevelFile = "version/fork.go"

var patchLevel = regexp.MustCompile(`(?m)^const Fork = "([^"]+)"$`)

// ReleaseVersion returns the version that a plan's fork is released as: the base, a hyphen, and the patch level that the overlay
// names. As a pre-release of the base it cannot become upstream's own, which go.sum files know with other content.
func ReleaseVersion(p *plan.Plan) (string, error) {
	for _, f := range p.Overlay.Files {
		if level := patchLevel.FindSubmatch(f.Data); f.Path == patchLevelFile && level != nil {
			return p.Module.Version + "-" + string(level[1]), nil
		}
	}
	return "", fmt.Errorf("%s does not name the patch level by a constant Fork", patchLevelFile)
}

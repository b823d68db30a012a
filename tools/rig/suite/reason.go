package suite

import (
	"regexp"
	"strings"
)

var (
	versionNumber = regexp.MustCompile(`(than max version|than min version) "[0-9.]+"`)
	mismatchFrame = regexp.MustCompile(`^skipping due to environmental constraints: no matching RunOnBlock; comparison errors: \[(.*)\]$`)
)

// tidyReason shortens the reasons of upstream's test runners, so that the same
// reason with different version numbers is counted as one.
func tidyReason(reason string) string {
	if match := mismatchFrame.FindStringSubmatch(reason); match != nil {
		reason = "requirement not met: " + match[1]
	}
	reason = versionNumber.ReplaceAllString(reason, "$1 of the test")
	return strings.TrimSpace(reason)
}

package pages

import (
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/command"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	// notInAnchors are the characters of a heading that its anchor lacks.
	notInAnchors = regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
)

// TestLinks follows each link within the repository to its file and its heading. The pages of the site that shows them, such as that of
// releases, are not followed, and neither are the links of release notes, which are made complete later.
func TestLinks(t *testing.T) {
	t.Parallel()
	listed, err := command.Output(t.Context(), root, nil, "git", "ls-files", "--cached", "--others", "--exclude-standard", "--",
		"*.md", ":!etc/release-notes.md", ":!**/testdata/**")
	require.NoError(t, err)
	followed := 0
	for _, page := range strings.Fields(string(listed)) {
		for _, found := range link.FindAllStringSubmatch(text(t, page), -1) {
			to, anchor, _ := strings.Cut(found[1], "#")
			name := path.Join(path.Dir(page), to)
			if to == "" {
				name = page
			}
			if strings.Contains(to, "://") || strings.HasPrefix(name, "../") {
				continue
			}
			followed++
			if !assert.FileExists(t, filepath.Join(root, name), "%s: %s", page, found[1]) || anchor == "" {
				continue
			}
			assert.Contains(t, anchors(text(t, name)), anchor, "%s: %s", page, found[1])
		}
	}
	require.Greater(t, followed, 200, "the test no longer finds links")
}

// anchors returns those of a page's headings.
func anchors(page string) (all []string) {
	for _, found := range heading.FindAllStringSubmatch(page, -1) {
		words := notInAnchors.ReplaceAllString(strings.ToLower(strings.TrimSpace(found[1])), "")
		all = append(all, strings.ReplaceAll(words, " ", "-"))
	}
	return all
}

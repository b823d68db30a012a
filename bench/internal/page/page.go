// Package page writes what is measured between the markers of a page: from "<!-- measured: name -->" to "<!-- end -->".
package page

import (
	"fmt"
	"os"
	"strings"
)

const end = "<!-- end -->\n"

// Write replaces what stands between the markers of a name.
func Write(file, name, text string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	replaced, err := replace(string(content), name, text)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, []byte(replaced), 0o644) //nolint:gosec // a page that everybody may read
}

func replace(content, name, text string) (string, error) {
	start := "<!-- measured: " + name + " -->\n"
	before, rest, found := strings.Cut(content, start)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", fmt.Errorf("there is no %q with %q after it", strings.TrimSpace(start), strings.TrimSpace(end))
	}
	return before + start + strings.TrimRight(text, "\n") + "\n" + end + after, nil
}

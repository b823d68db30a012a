package forktest

import (
	"maps"
	"slices"
	"strings"
)

// Advisory returns an entry of a list of advisories with some of its lines replaced; an empty value leaves the line out.
func Advisory(replaced map[string]string) string {
	fields := map[string]string{
		"id": "CVE-1", "title": "A title", "affected": `[">=v1.0.0 <v2.0.1", "=v2.2.0"]`, "impact": "Somebody reads all.", "fixed": "v2.0.1",
		"mended": "{by: [pool added], tests: [pool TestAdded]}",
	}
	maps.Copy(fields, replaced)
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if fields[name] != "" {
			lines = append(lines, name+": "+fields[name])
		}
	}
	return "- " + strings.Join(lines, "\n  ") + "\n"
}

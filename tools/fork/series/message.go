package series

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
)

// forVersion matches a paragraph that is only for some of upstream's versions, and their range.
var forVersion = regexp.MustCompile(`^\[([^\]]+)\]\s`)

// paragraphs returns the paragraphs of a text that are for a version, or all if it is empty.
func paragraphs(text, version string) (list []string, err error) {
	for p := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if of := forVersion.FindStringSubmatch(p); of != nil {
			versions, err := syntax.ParseBaseRange(strings.Fields(of[1]))
			if err != nil {
				return nil, err
			}
			if version != "" && !versions.Holds(version) {
				continue
			}
			p = p[len(of[0]):]
		}
		list = append(list, p)
	}
	return list, nil
}

// message returns the commit message for a version: the title, then why and what for.
func (s Step) message(ticket, version string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", strings.TrimSpace(ticket+" "+s.Title))
	for _, part := range []struct{ head, text string }{
		{"", s.Why}, {"What changes for users: ", s.Users}, {"Specification: ", s.Specification}, {"Tests: ", s.Tests},
	} {
		list, _ := paragraphs(part.text, version) // complete has looked for errors
		for i, paragraph := range list {
			if i == 0 {
				paragraph = part.head + paragraph
			}
			fmt.Fprintf(&b, "\n%s\n", fill(paragraph))
		}
	}
	return b.String()
}

// fill breaks a paragraph into lines of at most 72 bytes, as commit messages have them, where words permit.
func fill(text string) string {
	var lines []string
	for _, word := range strings.Fields(text) {
		last := len(lines) - 1
		if last < 0 || len(lines[last])+1+len(word) > 72 {
			lines = append(lines, word)
			continue
		}
		lines[last] += " " + word
	}
	return strings.Join(lines, "\n")
}

// complete lists what the step does not say.
func (s Step) complete(ps *problem.List) {
	for _, field := range []struct{ name, text string }{
		{"title", s.Title}, {"why", s.Why}, {"users", s.Users}, {"specification", s.Specification}, {"tests", s.Tests},
	} {
		if strings.TrimSpace(field.text) == "" {
			ps.Add(s.from, 0, "write it: reviewers know nothing but the driver", "the step has no %s", field.name)
		}
		if _, err := paragraphs(field.text, ""); err != nil {
			ps.Add(s.from, 0, "write versions as //fork:base does", "%s: %v", field.name, err)
		}
	}
	if len(s.Title) > 60 || strings.Contains(strings.TrimSpace(s.Title), "\n") {
		ps.Add(s.from, 0, "shorten it", "the title is longer than a line of 60 bytes")
	}
	for _, field := range s.Fields {
		if _, err := syntax.ParseKey(field); err != nil {
			ps.Add(s.from, 0, "write it as docs/builder.md says", "fields: %v", err)
		}
	}
	if !slices.IsSorted(s.Files) {
		ps.Add(s.from, 0, "sort the list", "the files are not in order")
	}
}

package advisory

import (
	"fmt"
	"slices"
	"strings"

	"mongofork/tools/fork/problem"
)

// The marks around the part of a page that is written from the advisories.
const (
	pageBegin = "<!-- written from etc/advisories.yaml by mongofork accept -->\n"
	pageEnd   = "<!-- end -->\n"
)

// Page returns a page's text with the part between its marks written anew. Name is for messages.
func (as List) Page(name string, old []byte, bases []string) ([]byte, error) {
	before, rest, begins := strings.Cut(string(old), pageBegin)
	_, after, ends := strings.Cut(rest, pageEnd)
	if !begins || !ends {
		return nil, problem.List{{File: name, Message: "the page lacks the marks around the advisories",
			Mend: "put the lines " + strings.TrimSpace(pageBegin) + " and " + strings.TrimSpace(pageEnd) + " back"}}
	}
	return []byte(before + pageBegin + as.markdown(bases) + pageEnd + after), nil
}

// markdown returns a table of the advisories and a section for each.
func (as List) markdown(bases []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| advisory | affected | %s |\n|---|---|%s\n", strings.Join(bases, " | "), strings.Repeat("---|", len(bases)))
	for _, a := range as {
		fmt.Fprintf(&b, "| [%s](#%s) | %s |", a.ID, strings.ToLower(a.ID), a.affected())
		for _, base := range bases {
			fmt.Fprintf(&b, " %s |", stateText[a.State(base)])
		}
		b.WriteString("\n")
	}
	for _, a := range as {
		fmt.Fprintf(&b, "\n### %s\n\n%s. %s\n\nUpstream: %s is affected, fixed in %s.\n", a.ID, a.Title, strings.TrimSpace(a.Impact), a.affected(), a.Fixed)
		for i := range a.Mended {
			if on := slices.DeleteFunc(slices.Clone(bases), func(base string) bool {
				return a.State(base) != MendedHere || a.Mending(base) != &a.Mended[i]
			}); len(on) > 0 {
				fmt.Fprintf(&b, "\nThe fork on %s: %s; tested by %s.\n", strings.Join(on, " and "), quoted(a.Mended[i].By), quoted(a.Mended[i].Tests))
			}
		}
		for _, base := range bases {
			if a.State(base) != Open {
				continue
			}
			fmt.Fprintf(&b, "\nThe fork on %s: **open**.\n", base)
			if reason := a.Accepted[base]; reason != "" {
				fmt.Fprintf(&b, "It is built nevertheless: %s.\n", strings.TrimSuffix(strings.TrimSpace(reason), "."))
			}
		}
	}
	return b.String()
}

var stateText = map[State]string{MendedUpstream: "fixed by upstream", MendedHere: "fixed by the fork", Open: "**open**"}

// affected returns the ranges for a reader.
func (a Advisory) affected() string { return strings.Join(a.Affected, " or ") }

// quoted returns keys as code, separated by commas.
func quoted(keys []string) string { return "`" + strings.Join(keys, "`, `") + "`" }

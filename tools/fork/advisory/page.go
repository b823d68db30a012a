package advisory

import (
	"fmt"
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

// markdown returns a table of the advisories.
func (as List) markdown(bases []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| advisory | what it is | affected; fixed in | fixed on %s by |\n|---|---|---|%s\n", strings.Join(bases, " by | on "), strings.Repeat("---|", len(bases)))
	for _, a := range as {
		fmt.Fprintf(&b, "| %s | %s | %s; %s |", a.ID, a.Title, strings.Join(a.Affected, " or "), a.Fixed)
		for _, base := range bases {
			state := a.State(base)
			text := map[State]string{MendedUpstream: "upstream", MendedHere: "fork", Open: "**open**"}[state]
			if reason := a.Accepted[base]; state == Open && reason != "" {
				text += ", built nevertheless: " + strings.TrimSpace(reason)
			}
			fmt.Fprintf(&b, " %s |", text)
		}
		b.WriteString("\n")
	}
	return b.String()
}

package fork

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mongofork/tools/fork/problem"
)

// SecurityPage says what is known about each base. The part between its markers is generated from the advisories.
const SecurityPage = "docs/security.md"

const (
	pageBegin = "<!-- written by mongofork advisories -->\n"
	pageEnd   = "<!-- end -->\n"
)

// WriteSecurityPage writes the part of the page that comes from the advisories. It reports whether the page changed.
func (p *Project) WriteSecurityPage() (changed bool, err error) {
	old, text, err := p.securityPage()
	if err != nil || bytes.Equal(old, text) {
		return false, err
	}
	return true, os.WriteFile(filepath.Join(p.Root, filepath.FromSlash(SecurityPage)), text, 0o644)
}

// securityPage returns the page's present and intended text.
func (p *Project) securityPage() (old, text []byte, err error) {
	list, err := p.ReadAdvisories()
	if err != nil {
		return nil, nil, err
	}
	bases, err := p.Bases()
	if err != nil {
		return nil, nil, err
	}
	if old, err = os.ReadFile(filepath.Join(p.Root, filepath.FromSlash(SecurityPage))); err != nil {
		return nil, nil, err
	}
	before, rest, begins := strings.Cut(string(old), pageBegin)
	_, after, ends := strings.Cut(rest, pageEnd)
	if !begins || !ends {
		return nil, nil, problem.List{{File: SecurityPage, Message: "the page lacks the marks around the advisories",
			Mend: "put the lines " + strings.TrimSpace(pageBegin) + " and " + strings.TrimSpace(pageEnd) + " back"}}
	}
	return old, []byte(before + pageBegin + list.markdown(bases) + pageEnd + after), nil
}

// markdown returns a table of the advisories and a section for each.
func (as Advisories) markdown(bases []string) string {
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
		for _, base := range bases {
			switch a.State(base) {
			case MendedHere:
				m := a.Mended[base]
				fmt.Fprintf(&b, "\nThe fork on %s: %s; tested by %s.\n", base, quoted(m.By), quoted(m.Tests))
			case Open:
				fmt.Fprintf(&b, "\nThe fork on %s: **open**.\n", base)
				if reason := a.Accepted[base]; reason != "" {
					fmt.Fprintf(&b, "It is built nevertheless: %s. It is not handed out.\n", strings.TrimSuffix(strings.TrimSpace(reason), "."))
				}
			}
		}
	}
	return b.String()
}

var stateText = map[AdvisoryState]string{MendedUpstream: "fixed by upstream", MendedHere: "fixed by the fork", Open: "**open**"}

// affected returns the ranges for a reader.
func (a Advisory) affected() string { return strings.Join(a.Affected, " or ") }

// quoted returns keys as code, separated by commas.
func quoted(keys []string) string { return "`" + strings.Join(keys, "`, `") + "`" }

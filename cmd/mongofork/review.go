package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"mongofork/internal/fork"
)

type statusCmd struct {
	All bool `help:"List added and watched declarations too."`
}

func (c *statusCmd) Run(a *app) error {
	plan, err := a.project.Match(a.ctx)
	if err != nil {
		return err
	}
	t := newTable("FOLDER", "DECLARATION", "HOW", "OURS", "LINES", "UPSTREAM", "REASON")
	var ours, theirs int
	for _, row := range plan.Status() {
		touched := row.How != "add" && row.How != string(fork.Watch)
		ours += row.Ours
		if touched {
			theirs += row.Theirs
		}
		if touched || c.All {
			t.AppendRow(table.Row{row.Key.Package, row.Key.Name, row.How, row.At, row.Ours, row.Theirs, row.Reason})
		}
	}
	fmt.Fprintf(a.out, "%s\n\n%s %s: %s\n%d lines of ours; %d lines of upstream's are replaced, wrapped or extended\n",
		t.Render(), plan.Module.Path, plan.Module.Version, plan.Counts(), ours, theirs)
	return nil
}

// newTable returns a table without borders, which also greps well.
func newTable(header ...any) table.Writer {
	t := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft = ""
	style.Format.Header = text.FormatDefault
	t.SetStyle(style)
	t.AppendHeader(header)
	t.SuppressTrailingSpaces()
	return t
}

type diffCmd struct {
	Paths    []string `arg:"" optional:"" name:"path" help:"Files, folders or declarations to show; all if none is given."`
	Stat     bool     `help:"Count the lines per file instead."`
	Upstream bool     `help:"Show upstream's declarations beside ours, whatever the lock says of them."`
}

func (c *diffCmd) Run(a *app) error {
	if c.Upstream {
		return c.declarations(a)
	}
	plan, assembly, err := a.project.Assemble(a.ctx)
	if err != nil {
		return err
	}
	only, err := c.files(plan)
	if err != nil {
		return err
	}
	var shown, added, removed int
	for _, d := range fork.Compare(fork.Pristine(plan.Module).Tree, assembly.Tree) {
		if !only(d.Path) {
			continue
		}
		shown, added, removed = shown+1, added+d.Added, removed+d.Removed
		if c.Stat {
			fmt.Fprintf(a.out, "%6s %6s  %s\n", fmt.Sprintf("+%d", d.Added), fmt.Sprintf("-%d", d.Removed), d.Path)
		} else {
			fmt.Fprintf(a.out, "%s", d.Text)
		}
	}
	if c.Stat {
		fmt.Fprintf(a.out, "%6s %6s  %d files\n", fmt.Sprintf("+%d", added), fmt.Sprintf("-%d", removed), shown)
	}
	return nil
}

// declarations prints single declarations.
func (c *diffCmd) declarations(a *app) error {
	if len(c.Paths) == 0 {
		return fmt.Errorf("--upstream needs declarations, such as 'x/mongo/driver Operation.Execute'")
	}
	plan, err := a.project.Match(a.ctx)
	if err != nil {
		return err
	}
	for _, s := range c.Paths {
		key, err := fork.ParseKey(s)
		if err != nil {
			return err
		}
		text, err := plan.CompareDecl(key)
		if err != nil {
			return err
		}
		fmt.Fprint(a.out, text)
	}
	return nil
}

// files returns a filter for the arguments: a path, a folder above it, or a
// declaration's key, which stands for its file and for ours.
func (c *diffCmd) files(plan *fork.Plan) (func(path string) bool, error) {
	var wanted []string
	for _, arg := range c.Paths {
		if !strings.ContainsAny(arg, " :") {
			wanted = append(wanted, strings.TrimSuffix(arg, "/"))
			continue
		}
		key, err := fork.ParseKey(arg)
		if err != nil {
			return nil, err
		}
		files := plan.FilesOf(key)
		if len(files) == 0 {
			return nil, fmt.Errorf("%s is not touched by the overlay (mongofork status lists what is)", key)
		}
		wanted = append(wanted, files...)
	}
	return func(path string) bool {
		for _, w := range wanted {
			if path == w || strings.HasPrefix(path, w+"/") {
				return true
			}
		}
		return len(wanted) == 0
	}, nil
}

type driftCmd struct {
	Version  string `arg:"" optional:"" help:"The version to compare with, such as v2.9.3. Without it every release since the lowest base is compared with the nearest base below, and summed up."`
	Diff     bool   `short:"v" help:"Print upstream's change of each declaration."`
	JSON     bool   `name:"json" help:"Print JSON."`
	Markdown bool   `help:"Print a Markdown table."`
}

func (c *driftCmd) Run(a *app) error {
	if c.Version == "" {
		return c.survey(a)
	}
	rows, err := a.project.Drift(a.ctx, c.Version)
	if err != nil {
		return err
	}
	if err := c.print(a, rows); err != nil {
		return err
	}
	review := 0
	for _, row := range rows {
		if row.Class.NeedsReview() {
			review++
		}
	}
	if review > 0 {
		return findings{fmt.Sprintf("%d of %d need review before the overlay is used with %s", review, len(rows), c.Version)}
	}
	return nil
}

// survey sums up the drift of every release. Those between two bases are for
// information; one above all bases that needs review is a finding.
func (c *driftCmd) survey(a *app) error {
	rows, err := a.project.Survey(a.ctx)
	if err != nil {
		return err
	}
	if err := c.printSurvey(a, rows); err != nil {
		return err
	}
	var waiting []string
	for _, row := range rows {
		if row.Newest && row.Review > 0 {
			waiting = append(waiting, fmt.Sprintf("%s (%d of %d)", row.Version, row.Review, row.Total))
		}
	}
	if len(waiting) > 0 {
		return findings{"newer than every base, and need review: " + strings.Join(waiting, ", ")}
	}
	return nil
}

func (c *driftCmd) printSurvey(a *app, rows []fork.SurveyRow) error {
	if c.JSON {
		return printJSON(a, rows)
	}
	t := newTable("RELEASE", "COMPARED WITH", "REVIEW", "OF", "BODY", "SIGNATURE", "GONE", "COLLIDES")
	for _, row := range rows {
		base := row.Base
		if row.Locked() {
			base = "is a base"
		}
		n := row.Classes
		t.AppendRow(table.Row{row.Version, base, row.Review, row.Total, n[fork.Body], n[fork.Signature], n[fork.Gone], n[fork.Collides]})
	}
	c.printTable(a, t)
	return nil
}

func printJSON(a *app, rows any) error {
	enc := json.NewEncoder(a.out)
	enc.SetIndent("", "  ")
	return enc.Encode(rows)
}

func (c *driftCmd) printTable(a *app, t table.Writer) {
	rendered := t.Render()
	if c.Markdown {
		rendered = t.RenderMarkdown()
	}
	fmt.Fprintln(a.out, rendered)
}

func (c *driftCmd) print(a *app, rows []fork.DriftRow) error {
	if c.JSON {
		return printJSON(a, rows)
	}
	t := newTable("CLASS", "DECLARATION", "HOW", "OURS", a.project.Base, c.Version, "HINT")
	for _, row := range rows {
		t.AppendRow(table.Row{row.Class, row.Subject, row.How, row.Ours, row.Was, row.Now, row.Hint})
	}
	c.printTable(a, t)
	for _, row := range rows {
		if c.Diff && row.Diff != "" {
			fmt.Fprintf(a.out, "\n%s (%s)\n%s", row.Subject, row.Class, row.Diff)
		}
	}
	return nil
}

type verifyCmd struct{}

func (c *verifyCmd) Run(a *app) error {
	hash, err := a.project.Verify(a.ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s: two builds are identical and equal the lock: %s\n", a.project.Base, hash)
	return nil
}

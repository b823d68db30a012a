package grafana

import (
	"fmt"
	"regexp"
	"slices"
)

// units are those that the dashboard may use, by Grafana's names: per second, seconds, plain numbers.
var units = []string{"cps", "ops", "s", "none"}

// Check returns what is wrong with the dashboard as it is written, before anything is queried.
func (d *Dashboard) Check() []string {
	var found problems
	found.unless(d.Title != "", "the dashboard has no title")
	found.unless(regexp.MustCompile(`^[\w-]{8,40}$`).MatchString(d.UID), "the UID %q is not one of 8 to 40 letters, digits, - and _", d.UID)
	found.unless(d.SchemaVersion > 0, "the dashboard has no schemaVersion")
	found.unless(d.Time.From != "" && d.Time.To != "", "the dashboard has no time range")
	found.unless(len(d.Panels) > 0, "the dashboard has no panels")
	for _, v := range d.Templating.List {
		found.unless(v.Label != "", "variable %s: it has no label", v.Name)
		found.unless(v.Query != "", "variable %s: it has no query", v.Name)
		switch v.Type {
		case "datasource":
		case "query":
			found.add(d.checkSource(v.Datasource, "variable "+v.Name))
			found.unless(v.Refresh > 0, "variable %s: it is never queried, as refresh is 0", v.Name)
			found.unless(!v.IncludeAll || v.AllValue != "", "variable %s: it has no allValue, and All becomes a list of all values", v.Name)
		default:
			found.unless(false, "variable %s: its type is %q, not query or datasource", v.Name, v.Type)
		}
	}
	for i := range d.Panels {
		found.add(d.checkPanel(i)...)
	}
	return found
}

func (d *Dashboard) checkPanel(i int) []string {
	p, where := &d.Panels[i], fmt.Sprintf("panel %d %q", d.Panels[i].ID, d.Panels[i].Title)
	var found problems
	found.unless(p.Title != "", "%s: it has no title", where)
	found.unless(p.Description != "", "%s: it has no description", where)
	found.unless(p.Type == "timeseries", "%s: its type is %q, not timeseries", where, p.Type)
	found.unless(slices.Contains(units, p.FieldConfig.Defaults.Unit), "%s: its unit %q is none of %q", where, p.FieldConfig.Defaults.Unit, units)
	found.add(d.checkSource(p.Datasource, where))
	at := p.GridPos
	found.unless(at.W > 0 && at.H > 0 && at.X >= 0 && at.Y >= 0 && at.X+at.W <= Columns, "%s: it is outside of the grid of %d columns", where, Columns)
	for _, other := range d.Panels[:i] {
		found.unless(other.ID != p.ID, "%s: another panel has its ID", where)
		found.unless(!at.overlaps(other.GridPos), "%s: it overlaps %q", where, other.Title)
	}
	found.unless(len(p.Targets) > 0, "%s: it has no queries", where)
	refs := map[string]bool{}
	for _, target := range p.Targets {
		found.unless(target.RefID != "" && !refs[target.RefID], "%s: a query has no refId, or another's", where)
		found.unless(target.LegendFormat != "", "%s: query %s has no legend", where, target.RefID)
		refs[target.RefID] = true
	}
	return found
}

// checkSource checks that a query goes to a data source that whoever imports the dashboard chooses.
func (d *Dashboard) checkSource(s *DataSource, where string) string {
	if s == nil {
		return where + ": it has no data source"
	}
	chosen := slices.ContainsFunc(d.Templating.List, func(v Variable) bool {
		return v.Type == "datasource" && string(v.Query) == s.Type && s.UID == "${"+v.Name+"}"
	})
	if s.Type != "prometheus" || !chosen {
		return fmt.Sprintf("%s: its data source, %s %s, is not that of a variable of type datasource", where, s.Type, s.UID)
	}
	return ""
}

// problems are sentences about what is wrong.
type problems []string

func (p *problems) unless(good bool, format string, args ...any) {
	if !good {
		*p = append(*p, fmt.Sprintf(format, args...))
	}
}

func (p *problems) add(found ...string) {
	for _, problem := range found {
		p.unless(problem == "", "%s", problem)
	}
}

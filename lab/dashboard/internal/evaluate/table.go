package evaluate

import (
	"math"
	"strconv"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Table lists the series of the panels.
func Table(panels []Panel) string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"panel", "unit", "query", "series", "last", "max"})
	for _, panel := range panels {
		for _, series := range panel.Series {
			last, largest := series.Last()
			t.AppendRow(table.Row{panel.Title, panel.FieldConfig.Defaults.Unit, series.RefID, series.Name, number(last), number(largest)})
		}
		t.AppendSeparator()
	}
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: 1, AutoMerge: true},
		{Number: 5, Align: text.AlignRight},
		{Number: 6, Align: text.AlignRight},
	})
	return t.Render()
}

func number(value float64) string {
	if math.IsNaN(value) {
		return "-"
	}
	return strconv.FormatFloat(value, 'f', 3, 64)
}

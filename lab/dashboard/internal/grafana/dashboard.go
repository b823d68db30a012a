// Package grafana reads a dashboard's JSON as Grafana does, as far as its queries and what they look like are concerned.
package grafana

import (
	"encoding/json"
	"fmt"
)

// Dashboard is a dashboard.
type Dashboard struct {
	Title         string
	UID           string
	SchemaVersion int
	Time          struct{ From, To string }
	Templating    struct{ List []Variable }
	Panels        []Panel
}

// Variable is what queries name as $name.
type Variable struct {
	Name       string
	Type       string // "datasource" or "query"
	Label      string
	Query      Query
	Datasource *DataSource // of a variable that is queried
	Multi      bool
	IncludeAll bool
	AllValue   string
	Refresh    int
}

// Query is the query of a variable. Grafana knows it as a text, or as an object that has the text.
type Query string

// UnmarshalJSON reads either form.
func (q *Query) UnmarshalJSON(text []byte) error {
	var object struct{ Query string }
	if json.Unmarshal(text, &object) == nil {
		*q = Query(object.Query)
		return nil
	}
	return json.Unmarshal(text, (*string)(q))
}

// DataSource is where a query is sent to.
type DataSource struct{ Type, UID string }

// Panel is a diagram.
type Panel struct {
	ID          int
	Type        string
	Title       string
	Description string
	GridPos     Position
	Datasource  *DataSource
	FieldConfig struct {
		Defaults struct {
			Unit     string
			Min, Max *float64
			Custom   struct {
				Stacking struct{ Mode string }
			}
		}
	}
	Targets []Target
}

// Stacked tells whether the panel's series are drawn on top of each other.
func (p *Panel) Stacked() bool { return p.FieldConfig.Defaults.Custom.Stacking.Mode == "normal" }

// Columns is the width of a dashboard.
const Columns = 24

// Position is a rectangle of a dashboard, in columns from the left and in rows from the top.
type Position struct{ X, Y, W, H int }

func (p Position) overlaps(q Position) bool {
	return p.X < q.X+q.W && q.X < p.X+p.W && p.Y < q.Y+q.H && q.Y < p.Y+p.H
}

// Target is a query of a panel.
type Target struct{ RefID, Expr, LegendFormat string }

// Parse reads a dashboard.
func Parse(text []byte) (*Dashboard, error) {
	d := &Dashboard{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("the dashboard: %w", err)
	}
	return d, nil
}

// Package evaluate answers a dashboard's queries with Prometheus' query engine, and finds the panels that show nothing.
package evaluate

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"mongofork/lab/dashboard/internal/grafana"
	"mongofork/lab/dashboard/internal/samples"
)

const (
	queryTimeout = 10 * time.Second
	maxSamples   = 1_000_000
	// lookback is for how long a series is shown after its last sample, as in Prometheus.
	lookback = 5 * time.Minute
)

// Panel is a panel with what it shows.
type Panel struct {
	*grafana.Panel
	Series []Series
}

// Series is a series that a panel shows.
type Series struct {
	RefID  string
	Name   string
	Points []promql.FPoint
}

// Last returns the last value, and the largest one. Values that are not numbers do not count; without any other both are
// not numbers.
func (s Series) Last() (last, largest float64) {
	last, largest = math.NaN(), math.NaN()
	for _, point := range s.Points {
		if math.IsNaN(point.F) {
			continue
		}
		last = point.F
		if math.IsNaN(largest) || last > largest {
			largest = last
		}
	}
	return last, largest
}

// Filled tells whether there is anything to see of the series.
func (s Series) Filled() bool {
	_, largest := s.Last()
	return largest > 0
}

// evaluator answers the queries of one dashboard.
type evaluator struct {
	dashboard *grafana.Dashboard
	store     *samples.Store
	view      grafana.View
	engine    *promql.Engine
	problems  []string
}

// Dashboard answers all queries of a dashboard. It returns the panels, and what is wrong with them: the engine's errors and
// warnings, queries of which there is nothing to see, variables without values, legends that tell no series from another.
func Dashboard(
	ctx context.Context, d *grafana.Dashboard, store *samples.Store, view grafana.View,
) (panels []Panel, problems []string) {
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples: maxSamples, Timeout: queryTimeout, LookbackDelta: lookback,
		EnableAtModifier: true, EnableNegativeOffset: true,
	})
	defer engine.Close()
	e := &evaluator{dashboard: d, store: store, view: view, engine: engine}
	for _, v := range d.Templating.List {
		if v.Type == "query" {
			e.variable(v)
		}
	}
	for i := range d.Panels {
		panels = append(panels, e.panel(ctx, &d.Panels[i]))
	}
	return panels, e.problems
}

func (e *evaluator) problemf(format string, args ...any) {
	e.problems = append(e.problems, fmt.Sprintf(format, args...))
}

// variable checks that there is something to choose from.
func (e *evaluator) variable(v grafana.Variable) {
	values, err := e.values(string(v.Query))
	if err != nil {
		e.problemf("variable %s: %v", v.Name, err)
	} else if len(values) == 0 {
		e.problemf("variable %s: %s has no values", v.Name, v.Query)
	}
}

func (e *evaluator) values(query string) ([]string, error) {
	query, err := e.dashboard.Expand(query, e.view)
	if err != nil {
		return nil, err
	}
	selector, label, err := grafana.LabelValues(query)
	if err != nil {
		return nil, err
	}
	matchers, err := parser.ParseMetricSelector(selector)
	if err != nil {
		return nil, err
	}
	return e.store.LabelValues(label, matchers...), nil
}

func (e *evaluator) panel(ctx context.Context, p *grafana.Panel) Panel {
	evaluated := Panel{Panel: p}
	named := map[string]bool{}
	for _, target := range p.Targets {
		where := fmt.Sprintf("panel %q, query %s", p.Title, target.RefID)
		series, err := e.target(ctx, target, where)
		switch {
		case err != nil:
			e.problemf("%s: %v", where, err)
		case len(series) == 0:
			e.problemf("%s: no data", where)
		case !slices.ContainsFunc(series, Series.Filled):
			e.problemf("%s: nothing to see, as no value is above zero", where)
		}
		for _, s := range series {
			if named[s.Name] {
				e.problemf("%s: another series of the panel is called %q as well", where, s.Name)
			}
			named[s.Name] = true
		}
		evaluated.Series = append(evaluated.Series, series...)
	}
	return evaluated
}

// target answers a query, and names its series.
func (e *evaluator) target(ctx context.Context, target grafana.Target, where string) ([]Series, error) {
	matrix, err := e.query(ctx, target.Expr, where)
	if err != nil {
		return nil, err
	}
	var all []Series
	for _, series := range matrix {
		name, missing := target.Legend(series.Metric.Get)
		if len(missing) > 0 {
			e.problemf("%s: the legend is %s, and a series %s has no %s", where, target.LegendFormat, series.Metric,
				strings.Join(missing, ", "))
		}
		all = append(all, Series{RefID: target.RefID, Name: name, Points: series.Floats})
	}
	return all, nil
}

// query answers a query. What the engine warns of, such as a rate of something that is no counter, is a problem.
func (e *evaluator) query(ctx context.Context, expr, where string) (promql.Matrix, error) {
	expr, err := e.dashboard.Expand(expr, e.view)
	if err != nil {
		return nil, err
	}
	query, err := e.engine.NewRangeQuery(ctx, e.store, nil, expr, e.view.From, e.view.To, e.view.Interval())
	if err != nil {
		return nil, err
	}
	defer query.Close()
	result := query.Exec(ctx)
	for _, warning := range result.Warnings.AsErrors() {
		e.problemf("%s: %v", where, warning)
	}
	matrix, err := result.Matrix()
	kept := slices.Clone(matrix)
	for i := range kept {
		kept[i].Floats = slices.Clone(kept[i].Floats) // when the query is closed, the engine uses its own again
	}
	return kept, err
}

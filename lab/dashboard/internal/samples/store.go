// Package samples collects samples of metrics and lets Prometheus' query engine see them.
package samples

import (
	"context"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// Store holds series in memory. Its zero value is empty. It is not safe for concurrent use. Prometheus' own storage would do
// as well, but depends on the client libraries of several clouds.
type Store struct {
	series map[string]*promql.Series
}

// Add adds samples, which have to be newer than those before.
func (s *Store) Add(vector model.Vector) {
	if s.series == nil {
		s.series = map[string]*promql.Series{}
	}
	for _, sample := range vector {
		key := sample.Metric.String()
		if s.series[key] == nil {
			s.series[key] = &promql.Series{Metric: metricLabels(sample.Metric)}
		}
		series := s.series[key]
		series.Floats = append(series.Floats, promql.FPoint{T: int64(sample.Timestamp), F: float64(sample.Value)})
	}
}

func metricLabels(metric model.Metric) labels.Labels {
	pairs := make(map[string]string, len(metric))
	for name, value := range metric {
		pairs[string(name)] = string(value)
	}
	return labels.FromMap(pairs)
}

// Len returns the number of series.
func (s *Store) Len() int { return len(s.series) }

// Select returns the series that match, sorted by their labels.
func (s *Store) Select(matchers ...*labels.Matcher) []promql.Series {
	var selected []promql.Series
	for _, series := range s.series {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(series.Metric.Get(m.Name)) }) {
			selected = append(selected, *series)
		}
	}
	slices.SortFunc(selected, func(a, b promql.Series) int { return labels.Compare(a.Metric, b.Metric) })
	return selected
}

// LabelValues returns the values that a label has in the series that match, sorted.
func (s *Store) LabelValues(label string, matchers ...*labels.Matcher) []string {
	var values []string
	for _, series := range s.Select(matchers...) {
		if value := series.Metric.Get(label); value != "" {
			values = append(values, value)
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// Querier implements storage.Queryable. It queries all times.
func (s *Store) Querier(_, _ int64) (storage.Querier, error) { return querier{s}, nil }

// querier implements storage.Querier.
type querier struct{ store *Store }

// Select implements storage.Querier.
func (q querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	return &seriesSet{left: q.store.Select(matchers...)}
}

// LabelValues implements storage.LabelQuerier.
func (q querier) LabelValues(
	_ context.Context, name string, _ *storage.LabelHints, matchers ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	return q.store.LabelValues(name, matchers...), nil, nil
}

// LabelNames implements storage.LabelQuerier.
func (q querier) LabelNames(
	_ context.Context, _ *storage.LabelHints, matchers ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	var names []string
	for _, series := range q.store.Select(matchers...) {
		series.Metric.Range(func(l labels.Label) { names = append(names, l.Name) })
	}
	slices.Sort(names)
	return slices.Compact(names), nil, nil
}

// Close implements storage.LabelQuerier.
func (q querier) Close() error { return nil }

// seriesSet implements storage.SeriesSet.
type seriesSet struct {
	current promql.Series
	left    []promql.Series
}

func (s *seriesSet) Next() bool {
	if len(s.left) == 0 {
		return false
	}
	s.current, s.left = s.left[0], s.left[1:]
	return true
}

func (s *seriesSet) At() storage.Series                { return promql.NewStorageSeries(s.current) }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

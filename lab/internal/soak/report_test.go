package soak

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"
)

func TestReportOfOperations(t *testing.T) {
	report := newReport()
	report.operation("insert", nil)
	report.operation("insert", mongo.CommandError{Code: 462, Labels: []string{"SystemOverloadedError"}})
	assert.Empty(t, report.Violations)
	report.operation("find", errors.New("nobody knows this one"))
	report.operation("find", errors.New("nor this"))
	assert.EqualValues(t, 4, report.Operations)
	assert.EqualValues(t, 1, report.Errors)
	assert.Equal(t, map[string]int64{"errors that are not documented": 2}, counted(report))
	assert.Contains(t, report.Violations["errors that are not documented"].Example, "nobody knows this one", "the first")
}

func TestDocumentedErrors(t *testing.T) {
	labelled := func(labels ...string) error { return mongo.CommandError{Code: 1, Labels: labels} }
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"a label":               {labelled("RetryableWriteError"), true},
		"a label within":        {fmt.Errorf("x: %w", labelled("TransientTransactionError")), true},
		"of a write":            {mongo.WriteException{Labels: []string{"RetryableWriteError"}}, true},
		"an unknown label":      {labelled("Nonsense"), false},
		"not primary":           {mongo.CommandError{Code: 10107}, true},
		"shutdown":              {mongo.CommandError{Code: 91}, true},
		"a cursor that is gone": {mongo.CommandError{Code: 43}, true},
		"another code":          {mongo.CommandError{Code: 11000}, false},
		"selection":             {topology.ServerSelectionError{Wrapped: errors.New("x")}, true},
		"wait queue":            {topology.WaitQueueTimeoutError{}, true},
		"deadline":              {fmt.Errorf("x: %w", context.DeadlineExceeded), true},
		"an error of nobody's":  {errors.New("x"), false},
	} {
		assert.Equal(t, test.want, documented(test.err), name)
	}
}

func TestTally(t *testing.T) {
	arms := []Arm{{Name: "v1", Reference: true}, {Name: "fork"}}
	clean := func() *Report { return &Report{Operations: 15, Errors: 2, Most: 6} }
	lost := func() *Report {
		r := clean()
		r.Violations = map[string]Violation{"acknowledged writes that are not there": {Count: 3, Example: "insert 7"}}
		return r
	}
	for name, test := range map[string]struct {
		reports [][]*Report
		failed  bool
		want    []string
	}{
		"nothing": {nil, false, nil},
		"none": {[][]*Report{{clean(), clean()}}, false,
			[]string{"| operations | 15 | 15 |", "| documented errors | 2 | 2 |", "| violations | 0 | 0 |"}},
		"the other's": {[][]*Report{{lost(), clean()}, {lost(), clean()}}, false, []string{
			"| acknowledged writes that are not there | 6 | 0 |",
			"v1, the first of acknowledged writes that are not there: seed 0: insert 7",
		}},
		"the fork's, seed by seed": {[][]*Report{{clean(), clean()}, {clean(), lost()}}, true, []string{
			"| operations | 30 | 30 |", "| commands of one operation, at most | 6 | 6 |",
			"| acknowledged writes that are not there | 0 | 3 |", "| violations | 0 | 3 |",
			"fork, the first of acknowledged writes that are not there: seed 1",
		}},
	} {
		tally := NewTally(arms)
		for seed, reports := range test.reports {
			tally.Add(uint64(seed), reports)
		}
		assert.Equal(t, test.failed, tally.Failed(), name)
		text := tally.Render()
		for _, want := range test.want {
			assert.Contains(t, text, want, name)
		}
	}
}

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

func TestDocumentedErrors(t *testing.T) {
	labelled := func(labels ...string) error { return mongo.CommandError{Code: 1, Labels: labels} }
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"a label":               {labelled("RetryableWriteError"), true},
		"a label within":        {fmt.Errorf("x: %w", labelled("TransientTransactionError")), true},
		"network":               {labelled("NetworkError"), true},
		"an unknown label":      {labelled("Nonsense"), false},
		"not primary":           {mongo.CommandError{Code: 10107}, true},
		"a cursor that is gone": {mongo.CommandError{Code: 43}, true},
		"another code":          {mongo.CommandError{Code: 11000}, false},
		"selection":             {topology.ServerSelectionError{Wrapped: errors.New("x")}, true},
		"wait queue":            {topology.WaitQueueTimeoutError{}, true},
		"deadline":              {fmt.Errorf("x: %w", context.DeadlineExceeded), true},
		"an error of nobody's":  {errors.New("x"), false},
	} {
		report := newReport()
		report.operation("find", test.err)
		assert.Equal(t, test.want, report.Errors == 1, name)
		assert.Equal(t, test.want, len(report.Violations["errors that are not documented"]) == 0, name)
	}
}

func TestRender(t *testing.T) {
	lost := &Report{Operations: 15, Errors: 2, Violations: map[string][]string{"lost writes": {"insert 7", "8", "9"}}}
	arms := []*arm{{name: "v1", reference: true, Report: newReport()}, {name: "fork", Report: newReport()}}
	assert.Contains(t, render(arms), "| violations | 0 | 0 |")
	arms[0].Report = lost
	assert.False(t, arms[0].failed(), "of a reference")
	for _, want := range []string{
		"| operations | 15 | 0 |", "| documented errors | 2 | 0 |", "| lost writes | 3 | 0 |", "v1, the first of lost writes: insert 7",
	} {
		assert.Contains(t, render(arms), want)
	}
	assert.False(t, arms[1].failed())
	arms[1].Report = lost
	assert.True(t, arms[1].failed())
}

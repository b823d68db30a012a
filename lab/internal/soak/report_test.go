package soak

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"mongofork/lab/internal/bsondoc"
)

func TestDocumentedErrors(t *testing.T) {
	labelled := func(labels ...string) error { return mongo.CommandError{Code: 1, Labels: labels} }
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"a label":               {labelled("RetryableWriteError"), true},
		"a label within":        {fmt.Errorf("x: %w", labelled("TransientTransactionError")), true},
		"of a write":            {mongo.WriteException{Labels: []string{"RetryableWriteError"}}, true},
		"network":               {labelled("NetworkError"), true},
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
		report := newReport()
		report.operation("find", test.err)
		assert.Equal(t, test.want, report.Errors == 1, name)
		assert.Equal(t, test.want, len(report.Violations["errors that are not documented"]) == 0, name)
	}
}

func TestRender(t *testing.T) {
	clean := &Report{Operations: 15, Errors: 2, Most: 6}
	lost := &Report{Operations: 15, Most: 5, Violations: map[string][]string{"lost writes": {"insert 7", "8", "9"}}}
	arms := []*arm{{name: "v1", reference: true, Report: newReport()}, {name: "fork", Report: newReport()}}
	assert.Contains(t, render(arms), "| violations | 0 | 0 |")
	for _, arm := range arms {
		arm.sum(1, clean)
		assert.False(t, arm.failed())
	}
	arms[0].sum(2, lost)
	arms[0].sum(3, lost)
	assert.False(t, arms[0].failed(), "of a reference")
	text := render(arms)
	for _, want := range []string{
		"| operations | 45 | 15 |", "| documented errors | 2 | 2 |", "| commands of one operation, at most | 6 | 6 |",
		"| lost writes | 6 | 0 |", "v1, the first of lost writes: seed 2: insert 7",
		"In 45 operations, v1 broke 6 of its promises.\n", "fork kept every promise: in 15 operations each ",
	} {
		assert.Contains(t, text, want)
	}
	arms[1].sum(4, lost)
	assert.True(t, arms[1].failed())
}

func TestCommandsOfAnOperation(t *testing.T) {
	for name, test := range map[string]struct {
		command    string
		operations int
		times      int
		want       map[string]int
		most       int
	}{
		"with all retries":        {"insert", 1, maxCommands, map[string]int{}, maxCommands},
		"once more":               {"insert", 1, 7, map[string]int{"operations of more than 6 commands": 1}, 7},
		"of several operations":   {"insert", 2, 4, map[string]int{}, 4},
		"batches are no attempts": {"getMore", 1, 7, map[string]int{}, 0},
	} {
		report := newReport()
		for i := range test.times * test.operations {
			command := bsondoc.Marshal(bsondoc.D(test.command, 1, "comment", fmt.Sprint(i%test.operations)))
			report.started(t.Context(), &event.CommandStartedEvent{CommandName: test.command, Command: command})
		}
		assert.Equal(t, test.want, counted(report), name)
		assert.Equal(t, test.most, report.Most, name)
	}
}

func TestOpenFiles(t *testing.T) {
	before, err := openFiles()
	if err != nil {
		t.Skip("there is no /dev/fd here")
	}
	folder, err := os.Open(".")
	require.NoError(t, err)
	defer folder.Close()
	open, err := openFiles()
	require.NoError(t, err)
	assert.Equal(t, before+1, open)
}

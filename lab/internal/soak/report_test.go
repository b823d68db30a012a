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

// counted returns how often each kind of violation is in the report.
func counted(report *Report) map[string]int64 {
	counts := map[string]int64{}
	for kind, v := range report.Violations {
		counts[kind] = v.Count
	}
	return counts
}

// written returns a stream of three writes, of which the first two were acknowledged.
func written() *stream {
	s := &stream{}
	for n := range int64(3) {
		if s.next() != n+1 {
			panic("numbers are given in order, from 1")
		}
	}
	s.acknowledge(1)
	s.acknowledge(2)
	return s
}

func TestStreamCheck(t *testing.T) {
	const missing, twice, nobodys = "acknowledged writes that are not there", "writes that were done more than once",
		"writes that nobody made"
	for name, test := range map[string]struct {
		found []int64
		want  map[string]int64
	}{
		"what was acknowledged":         {[]int64{1, 2}, map[string]int64{}},
		"what was not, too":             {[]int64{3, 2, 1}, map[string]int64{}},
		"one is missing":                {[]int64{2}, map[string]int64{missing: 1}},
		"all are missing":               {nil, map[string]int64{missing: 2}},
		"one twice":                     {[]int64{1, 2, 1}, map[string]int64{twice: 1}},
		"one not acknowledged, twice":   {[]int64{1, 2, 3, 3, 3}, map[string]int64{twice: 1}},
		"one that was never written":    {[]int64{1, 2, 4}, map[string]int64{nobodys: 1}},
		"one that cannot be":            {[]int64{0, 1, 2}, map[string]int64{nobodys: 1}},
		"one is missing, another twice": {[]int64{2, 2}, map[string]int64{missing: 1, twice: 1}},
	} {
		report := newReport()
		written().check("w", test.found, report)
		assert.Equal(t, test.want, counted(report), name)
	}
}

func TestSnapshotIsACopy(t *testing.T) {
	s := written()
	attempted, acknowledged := s.snapshot()
	s.acknowledge(s.next())
	assert.EqualValues(t, 3, attempted)
	assert.Equal(t, map[int64]bool{1: true, 2: true}, acknowledged)
}

func TestReportOfOperations(t *testing.T) {
	report := newReport()
	report.operation("insert", nil)
	report.operation("insert", mongo.CommandError{Code: 462, Labels: []string{"SystemOverloadedError"}})
	assert.Empty(t, report.Violations)
	report.operation("find", errors.New("nobody knows this one"))
	report.operation("find", errors.New("nor this"))
	assert.EqualValues(t, 4, report.Operations)
	assert.Equal(t, map[string]int64{"SystemOverloadedError": 1}, report.Errors)
	assert.Equal(t, map[string]int64{"errors that are not documented": 2}, counted(report))
	assert.Contains(t, report.Violations["errors that are not documented"].Example, "nobody knows this one", "the first")
}

func TestClassify(t *testing.T) {
	labelled := func(labels ...string) error { return mongo.CommandError{Code: 1, Labels: labels} }
	for name, test := range map[string]struct {
		err        error
		class      string
		documented bool
	}{
		"a label":               {labelled("RetryableWriteError"), "RetryableWriteError", true},
		"the telling one":       {labelled("RetryableError", "SystemOverloadedError"), "SystemOverloadedError", true},
		"a label within":        {fmt.Errorf("x: %w", labelled("TransientTransactionError")), "TransientTransactionError", true},
		"of a write":            {mongo.WriteException{Labels: []string{"RetryableWriteError"}}, "RetryableWriteError", true},
		"an unknown label":      {labelled("Nonsense"), "", false},
		"not primary":           {mongo.CommandError{Code: 10107}, "NotWritablePrimary", true},
		"state change":          {mongo.CommandError{Code: 11602}, "InterruptedDueToReplStateChange", true},
		"shutdown":              {mongo.CommandError{Code: 91}, "ShutdownInProgress", true},
		"a cursor that is gone": {mongo.CommandError{Code: 43}, "CursorNotFound", true},
		"a snapshot too early":  {mongo.CommandError{Code: 246}, "SnapshotUnavailable", true},
		"another code":          {mongo.CommandError{Code: 11000}, "", false},
		"selection":             {topology.ServerSelectionError{Wrapped: errors.New("x")}, "server selection", true},
		"wait queue":            {topology.WaitQueueTimeoutError{}, "wait queue", true},
		"deadline":              {fmt.Errorf("x: %w", context.DeadlineExceeded), "timeout", true},
		"an error of nobody's":  {errors.New("x"), "", false},
	} {
		class, documented := classify(test.err)
		assert.Equal(t, test.class, class, name)
		assert.Equal(t, test.documented, documented, name)
	}
}

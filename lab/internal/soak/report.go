package soak

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"mongofork/lab/internal/servererror"
)

// Report is the result of a run. It is safe for concurrent use.
type Report struct {
	mu                 sync.Mutex
	Operations, Errors int64               // all, and the errors among them that are documented
	Violations         map[string][]string // the broken promises, by kind
}

func newReport() *Report { return &Report{Violations: make(map[string][]string)} }

func (r *Report) violation(kind, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Violations[kind] = append(r.Violations[kind], fmt.Sprintf("%.1000s", fmt.Sprintf(format, args...)))
}

// operation counts an operation and the error that the application saw.
func (r *Report) operation(kind string, err error) {
	documented := documented(err)
	if err != nil && !documented {
		r.violation("errors that are not documented", "%s: %T %v", kind, err, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Operations++
	if documented {
		r.Errors++
	}
}

// labels are the error labels that tell an application what it may do.
var labels = []string{
	"SystemOverloadedError", "TransientTransactionError", "UnknownTransactionCommitResult", "ResumableChangeStreamError",
	"RetryableWriteError", "RetryableError",
}

// codes are the error codes of a member that changes its role; and what a server documents for what is lost with a member or not there
// yet: cursors that were open there, and the time to read at, which a member that has just started does not know.
var codes = append([]int32{43 /* CursorNotFound */, 237 /* CursorKilled */, 246 /* SnapshotUnavailable */}, servererror.StateChanges...)

// documented reports whether the driver's documentation names an error for a deployment in trouble.
func documented(err error) bool {
	var (
		labelled  mongo.LabeledError
		command   mongo.ServerError
		selection topology.ServerSelectionError
		waiting   topology.WaitQueueTimeoutError
		pool      driver.RetryablePoolError
	)
	return errors.As(err, &labelled) && slices.ContainsFunc(labels, labelled.HasErrorLabel) ||
		errors.As(err, &command) && slices.ContainsFunc(codes, func(code int32) bool { return command.HasErrorCode(int(code)) }) ||
		errors.As(err, &selection) || errors.As(err, &waiting) || errors.As(err, &pool) ||
		mongo.IsNetworkError(err) || mongo.IsTimeout(err)
}

// render returns the table, side by side, and the first example of each violation, as Markdown.
func render(arms []*arm) string {
	var table, below strings.Builder
	row := func(title string, of func(*arm) any) {
		fmt.Fprintf(&table, "| %s |", title)
		for _, arm := range arms {
			fmt.Fprintf(&table, " %v |", of(arm))
		}
		table.WriteString("\n")
	}
	row("", func(a *arm) any { return a.name })
	row("---", func(*arm) any { return "---:" })
	row("operations", func(a *arm) any { return a.Operations })
	row("documented errors", func(a *arm) any { return a.Errors })
	kinds := make(map[string]bool)
	for _, arm := range arms {
		for _, kind := range slices.Sorted(maps.Keys(arm.Violations)) {
			kinds[kind] = true
			fmt.Fprintf(&below, "%s, the first of %s: %s\n", arm.name, kind, arm.Violations[kind][0])
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		row(kind, func(a *arm) any { return len(a.Violations[kind]) })
	}
	if len(kinds) == 0 {
		row("violations", func(*arm) any { return 0 })
	}
	return table.String() + "\n" + below.String()
}

package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"
	"go.uber.org/goleak"

	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/servererror"
)

const (
	patience      = 60 * time.Second      // bounds the operations in progress at the end
	leavePatience = 10 * time.Second      // bounds the time that a client's goroutines take to end after Disconnect
	pace          = 50 * time.Millisecond // the least wait of a worker between two operations
)

// Application is the command line of one application, which runs as a program of its own, built with its driver.
type Application struct {
	URI      string `required:"" help:"The connection string of its fronts."`
	Direct   string `required:"" help:"That of the members."`
	Database string `required:"" help:"Its database."`
	Start    time.Time
	Duration time.Duration
}

// Run lets the application work, and writes its Report, as JSON. The error is for a run that failed.
func (a *Application) Run(ctx context.Context, to io.Writer) error {
	w := &workers{report: newReport(), seen: map[int][]int64{}}
	if err := a.run(ctx, w); err != nil {
		return err
	}
	lists, err := a.lists(ctx)
	if err != nil {
		return err
	}
	w.check(lists)
	return json.NewEncoder(to).Encode(w.report)
}

// run lets a client work, and checks that nothing of the client is left.
func (a *Application) run(ctx context.Context, w *workers) error {
	others := goleak.IgnoreCurrent()
	files, err := openFiles()
	if err != nil {
		return err
	}
	client, err := mongo.Connect(options.Client().ApplyURI(a.URI).SetMonitor(&event.CommandMonitor{Started: w.report.started}))
	if err != nil {
		return err
	}
	w.db = client.Database(a.Database)
	err = a.busy(ctx, w)
	err = errors.Join(err, client.Disconnect(context.WithoutCancel(ctx)))
	left := goleak.Find(others)
	for deadline := time.Now().Add(leavePatience); left != nil && time.Now().Before(deadline); left = goleak.Find(others) {
	}
	if open, _ := openFiles(); open > files {
		w.report.violation("connections that were leaked", "%d are open after Disconnect", open-files)
	}
	if left != nil {
		w.report.violation("goroutines that were leaked", "after Disconnect: %v", left)
	}
	return err
}

// busy lets all work for the duration of the run, and then lets them finish.
func (a *Application) busy(ctx context.Context, w *workers) (err error) {
	if w.session, err = w.db.Client().StartSession(); err != nil {
		return err
	}
	defer w.session.EndSession(context.WithoutCancel(ctx))
	for _, name := range []string{shared, listed, inserted, own} {
		if err := w.db.CreateCollection(ctx, name); err != nil {
			return err
		}
	}
	if err := w.watch(ctx); err != nil {
		return fmt.Errorf("open the change stream: %w", err)
	}
	if err := clock.Wait(ctx, time.Until(a.Start)); err != nil {
		return err
	}
	working, stop := context.WithTimeout(ctx, a.Duration)
	defer stop()
	var busy sync.WaitGroup
	for kind, operate := range w.jobs() {
		busy.Go(func() {
			// The operation itself is not interrupted: a context with a deadline would put the driver's retries under a
			// client-side timeout.
			for clock.Wait(working, pace) == nil {
				w.report.operation(kind, operate(context.WithoutCancel(ctx)))
			}
		})
	}
	busy.Wait()
	return w.finish(ctx)
}

// lists returns the lists that are there, as the members themselves tell, by collection.
func (a *Application) lists(ctx context.Context) (lists map[string]map[int][]int64, err error) {
	client, err := mongo.Connect(options.Client().ApplyURI(a.Direct))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, client.Disconnect(context.WithoutCancel(ctx))) }()
	lists = make(map[string]map[int][]int64)
	for _, name := range []string{shared, listed, inserted, own} {
		cursor, err := client.Database(a.Database).Collection(name).Find(ctx, bson.D{})
		if err != nil {
			return nil, err
		}
		var found []list
		if err := cursor.All(ctx, &found); err != nil {
			return nil, err
		}
		lists[name] = make(map[int][]int64)
		for _, l := range found {
			lists[name][l.ID] = l.N
		}
	}
	return lists, nil
}

// openFiles returns how many files and connections this process has open.
func openFiles() (int, error) {
	files, err := os.ReadDir("/dev/fd")
	return len(files), err
}

// Report is the result of a run, or of several. It is safe for concurrent use.
type Report struct {
	mu                 sync.Mutex
	Operations, Errors int64               // all, and the errors among them that are documented
	Violations         map[string][]string // the broken promises, by kind
	Most               int                 // the largest number of commands for one operation

	commands map[string]int // of each operation, by the comments that the workers set
}

func newReport() *Report {
	return &Report{Violations: make(map[string][]string), commands: make(map[string]int)}
}

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

// maxCommands is the specification's limit of commands for one operation: one, and five retries.
const maxCommands = 6

// started counts a command.
func (r *Report) started(_ context.Context, e *event.CommandStartedEvent) {
	comment, ok := e.Command.Lookup("comment").StringValueOK()
	if !ok || e.CommandName == "getMore" { // a cursor's has the comment of the aggregate, and there is one for each batch
		return
	}
	operation := e.CommandName + " " + comment
	r.mu.Lock()
	r.commands[operation]++
	commands := r.commands[operation]
	r.Most = max(r.Most, commands)
	r.mu.Unlock()
	if commands == maxCommands+1 {
		r.violation("operations of more than 6 commands", "%s", operation)
	}
}

// labels are the error labels that tell an application what it may do.
var labels = []string{"SystemOverloadedError", "TransientTransactionError", "UnknownTransactionCommitResult", "ResumableChangeStreamError",
	"RetryableWriteError", "RetryableError"}

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

// sum adds the report of a seed.
func (r *Report) sum(seed uint64, more *Report) {
	r.Operations, r.Errors, r.Most = r.Operations+more.Operations, r.Errors+more.Errors, max(r.Most, more.Most)
	for kind, examples := range more.Violations {
		for _, example := range examples {
			r.violation(kind, "seed %d: %s", seed, example)
		}
	}
}

// render returns the table, side by side, the first example of each violation, and a verdict on each application, as Markdown.
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
	row("commands of one operation, at most", func(a *arm) any { return a.Most })
	kinds, verdicts := make(map[string]bool), ""
	for _, arm := range arms {
		broken := 0
		for _, kind := range slices.Sorted(maps.Keys(arm.Violations)) {
			kinds[kind] = true
			broken += len(arm.Violations[kind])
			fmt.Fprintf(&below, "%s, the first of %s: %s\n", arm.name, kind, arm.Violations[kind][0])
		}
		verdicts += arm.verdict(broken)
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		row(kind, func(a *arm) any { return len(a.Violations[kind]) })
	}
	if len(kinds) == 0 {
		row("violations", func(*arm) any { return 0 })
	}
	return table.String() + "\n" + below.String() + verdicts
}

// verdict says in a sentence what an application has shown.
func (a *arm) verdict(broken int) string {
	switch {
	case a.Operations == 0:
		return a.name + " has done nothing.\n"
	case broken == 0:
		return fmt.Sprintf("%s kept every promise: in %d operations each acknowledged write took place once, and each error is "+
			"documented.\n", a.name, a.Operations)
	}
	return fmt.Sprintf("In %d operations, %s broke %d of its promises.\n", a.Operations, a.name, broken)
}

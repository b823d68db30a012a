package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.uber.org/goleak"

	"mongofork/lab/internal/clock"
)

const (
	// patience bounds the operations in progress at the end.
	patience = 60 * time.Second
	// leavePatience bounds the time that a client's goroutines take to end after Disconnect.
	leavePatience = 10 * time.Second
	// pace is the least wait of a worker between two operations.
	pace = 50 * time.Millisecond
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

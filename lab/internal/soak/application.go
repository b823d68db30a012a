package soak

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.uber.org/goleak"

	"mongofork/lab/internal/clock"
)

const (
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
	report := newReport()
	done, err := a.run(ctx, report)
	if err != nil {
		return err
	}
	there, err := a.lists(ctx)
	if err != nil {
		return err
	}
	check(done, there, report)
	return json.NewEncoder(to).Encode(report)
}

// run lets a client work, and checks that nothing of the client is left.
func (a *Application) run(ctx context.Context, report *Report) ([]*job, error) {
	others := goleak.IgnoreCurrent()
	files, err := openFiles()
	if err != nil {
		return nil, err
	}
	client, err := mongo.Connect(options.Client().ApplyURI(a.URI))
	if err != nil {
		return nil, err
	}
	done, err := a.busy(ctx, client, report)
	err = errors.Join(err, client.Disconnect(context.WithoutCancel(ctx)))
	left := goleak.Find(others)
	for deadline := time.Now().Add(leavePatience); left != nil && time.Now().Before(deadline); left = goleak.Find(others) {
	}
	if open, _ := openFiles(); open > files {
		report.violation("connections that were leaked", "%d are open after Disconnect", open-files)
	}
	if left != nil {
		report.violation("goroutines that were leaked", "after Disconnect: %v", left)
	}
	return done, err
}

// busy does all jobs for the duration of the run.
func (a *Application) busy(ctx context.Context, client *mongo.Client, report *Report) (all []*job, err error) {
	session, err := client.StartSession()
	if err != nil {
		return nil, err
	}
	defer session.EndSession(context.WithoutCancel(ctx))
	db := client.Database(a.Database)
	for _, name := range []string{lists, inserted} {
		if err := db.CreateCollection(ctx, name); err != nil {
			return nil, err
		}
	}
	if err := clock.Wait(ctx, time.Until(a.Start)); err != nil {
		return nil, err
	}
	working, stop := context.WithTimeout(ctx, a.Duration)
	defer stop()
	var busy sync.WaitGroup
	for kind := range jobs {
		j := &job{kind: kind, db: db, report: report, session: session}
		all = append(all, j)
		busy.Go(func() {
			// The operation itself is not interrupted: a context with a deadline would put the driver's retries under a
			// client-side timeout.
			for clock.Wait(working, pace) == nil {
				j.once(context.WithoutCancel(ctx))
			}
		})
	}
	busy.Wait()
	return all, nil
}

// lists returns the lists that are there by their names, as the members themselves tell, and "inserted" with what transactions inserted.
func (a *Application) lists(ctx context.Context) (there map[string][]int64, err error) {
	client, err := mongo.Connect(options.Client().ApplyURI(a.Direct))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, client.Disconnect(context.WithoutCancel(ctx))) }()
	there = map[string][]int64{}
	var found []list
	cursor, err := client.Database(a.Database).Collection(lists).Find(ctx, bson.D{})
	if err == nil {
		err = cursor.All(ctx, &found)
	}
	for _, l := range found {
		there[l.ID] = l.N
	}
	var documents []int64
	if err == nil {
		err = client.Database(a.Database).Collection(inserted).Distinct(ctx, "_id", bson.D{}).Decode(&documents)
	}
	there[inserted] = documents
	return there, err
}

// check compares the final lists with what the jobs were told.
func check(done []*job, there map[string][]int64, report *Report) {
	for _, j := range done {
		whole := map[int64]bool{}
		for i, h := range j.histories {
			h.check(there[j.name(i)], report)
			for _, n := range there[j.name(i)] {
				whole[n] = true
			}
		}
		for n := int64(1); n <= j.last && j.kind == "transaction"; n++ {
			if slices.Contains(there[inserted], n) != whole[n] {
				report.violation("transactions that are not whole", "%d is in a list or inserted, but not both", n)
			}
		}
	}
}

// openFiles returns how many files and connections this process has open.
func openFiles() (int, error) {
	files, err := os.ReadDir("/dev/fd")
	return len(files), err
}

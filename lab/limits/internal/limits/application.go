package limits

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/clock"
)

const (
	// database is dropped before and after.
	database = "limits"
	// waveTime is far more than what the backoffs of one operation add up to, 6.2 seconds at most.
	waveTime = time.Minute
	pollTime = 10 * time.Millisecond
)

// application writes and reads, many operations at a time.
type application struct {
	name    string
	client  *mongo.Client
	journal *journal

	operations int
	// acknowledged are the numbers of the writes that succeeded.
	acknowledged []int
	errs         []error
}

// newApplication connects, and returns when the server is known and as many connections are ready as the options want.
func newApplication(ctx context.Context, name string, opts *options.ClientOptions) (*application, error) {
	a := &application{name: name, journal: newJournal(opts)}
	var err error
	if a.client, err = mongo.Connect(opts.SetAppName(name)); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, waveTime)
	defer cancel()
	if err := a.client.Ping(ctx, nil); err != nil {
		return nil, errors.Join(fmt.Errorf("connect %s: %w", name, err), a.client.Disconnect(ctx))
	}
	for opts.MinPoolSize != nil && a.journal.read().ready < int(*opts.MinPoolSize) {
		if err := (clock.System{}).Wait(ctx, pollTime); err != nil {
			return nil, errors.Join(fmt.Errorf("connect %s: the pool is not filled: %w", name, err), a.client.Disconnect(ctx))
		}
	}
	return a, nil
}

// wave does that many operations concurrently; every other one is a write.
func (a *application) wave(ctx context.Context, size int) {
	ctx, cancel := context.WithTimeout(ctx, waveTime)
	defer cancel()
	var mu sync.Mutex
	var running sync.WaitGroup
	for range size {
		a.operations++
		number := a.operations
		running.Go(func() {
			err := a.operate(ctx, number)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				a.errs = append(a.errs, err)
			case isWrite(number):
				a.acknowledged = append(a.acknowledged, number)
			}
		})
	}
	running.Wait()
}

func isWrite(number int) bool { return number%2 == 0 }

func (a *application) operate(ctx context.Context, number int) error {
	collection := a.client.Database(database).Collection(a.name)
	comment := fmt.Sprintf("%s %d", a.name, number)
	if isWrite(number) {
		_, err := collection.InsertOne(ctx, bson.D{{Key: "number", Value: number}}, options.InsertOne().SetComment(comment))
		return err
	}
	err := collection.FindOne(ctx, bson.D{}, options.FindOne().SetComment(comment)).Err()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil
	}
	return err
}

// misdone returns how many acknowledged writes are not on the server, and how many writes are there more than once.
func (a *application) misdone(ctx context.Context, direct *mongo.Client) (lost, doubled int, err error) {
	cursor, err := direct.Database(database).Collection(a.name).Find(ctx, bson.D{})
	if err != nil {
		return 0, 0, err
	}
	var docs []struct{ Number int }
	if err := cursor.All(ctx, &docs); err != nil {
		return 0, 0, err
	}
	found := make(map[int]int)
	for _, doc := range docs {
		found[doc.Number]++
		if found[doc.Number] == 2 {
			doubled++
		}
	}
	for _, number := range a.acknowledged {
		if found[number] == 0 {
			lost++
		}
	}
	return lost, doubled, nil
}

package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	// appName limits the overload to the shop.
	appName = "overload-shop"
	// overloadCode is IngressRequestRateLimitExceeded.
	overloadCode = 462

	// The server rejects commands in this many bursts, one every burstInterval, for
	// about as long as the application is busy. Then it recovers: fail points know
	// nothing of the load, and would starve the last worker that goes on.
	bursts        = 16
	burstInterval = 250 * time.Millisecond

	offTimeout = 10 * time.Second
)

// overload makes a server shed the load of one application, in bursts. The fail
// points that it uses count what they reject: a probability per command, which
// mongod offers too, is ignored by SecantusDB, which then rejects everything.
type overload struct {
	client *mongo.Client
	labels []string
	burst  int
}

func connectOverload(uri string, labels []string, burst int) (*overload, error) {
	client, err := mongo.Connect(options.Client().ApplyURI(uri).SetAppName("overload-control"))
	if err != nil {
		return nil, err
	}
	return &overload{client: client, labels: labels, burst: burst}, nil
}

// during sheds load while do runs, and never longer.
func (o *overload) during(ctx context.Context, do func(context.Context) error) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer func() { err = errors.Join(err, o.off(ctx)) }()
	if err := o.reject(ctx); err != nil {
		return err // before anything is run: such as a server without test commands
	}

	done := make(chan struct{})
	failed := make(chan error, 1)
	go func() {
		err := o.repeat(ctx, done)
		if err != nil {
			cancel() // what runs on without an overload shows nothing
		}
		failed <- err
	}()
	err = do(ctx)
	close(done)
	return errors.Join(<-failed, err)
}

// repeat starts the bursts after the first one. It ends early when done is closed.
func (o *overload) repeat(ctx context.Context, done <-chan struct{}) error {
	ticker := time.NewTicker(burstInterval)
	defer ticker.Stop()
	for i := 1; i < bursts; i++ {
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return nil // the caller knows
		case <-ticker.C:
		}
		if err := o.reject(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// reject has the server reject the application's next commands.
func (o *overload) reject(ctx context.Context) error {
	err := o.configure(ctx, bson.D{{Key: "times", Value: o.burst}}, bson.E{Key: "data", Value: bson.D{
		{Key: "failCommands", Value: bson.A{
			"insert", "update", "find", "getMore", "aggregate", "commitTransaction",
		}},
		{Key: "appName", Value: appName},
		{Key: "errorCode", Value: overloadCode},
		{Key: "errorLabels", Value: o.labels},
	}})
	if err != nil {
		return fmt.Errorf("make the server shed load (it must have enableTestCommands=1): %w", err)
	}
	return nil
}

// off ends the overload, also after an interrupt.
func (o *overload) off(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), offTimeout)
	defer cancel()
	err := o.configure(ctx, "off")
	if err != nil {
		err = fmt.Errorf("switch fail point failCommand off: %w", err)
	}
	return errors.Join(err, o.client.Disconnect(ctx))
}

func (o *overload) configure(ctx context.Context, mode any, more ...bson.E) error {
	command := bson.D{{Key: "configureFailPoint", Value: "failCommand"}, {Key: "mode", Value: mode}}
	return o.client.Database("admin").RunCommand(ctx, append(command, more...)).Err()
}
